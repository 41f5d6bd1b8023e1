// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/perplexity.h"

#include "core/error.h"
#include "core/observe/logit_divergence.h"

#include <algorithm>
#include <cmath>

namespace inferoscope::core {
namespace {

double logLikelihood(std::span<const float> logits, TokenId token) {
  const double most = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - most);
  return logits[static_cast<std::size_t>(token)] - most - std::log(sum);
}

// One setting's scores of the texts it is given.
class ScoredLane {
 public:
  ScoredLane(const LaneSource& lane, int max_tokens)
      : m_scorer(lane.model, lane.backend, lane.options, max_tokens),
        m_num_tokens(static_cast<std::size_t>(lane.model->config.num_tokens)),
        m_row_size(static_cast<std::size_t>(lane.model->config.vocab_size)) {}

  void start(const TextWindow& window) { m_scorer.start(window.tokens, window.first_row); }

  Scorer::Rows next(const TextWindow& window, const std::stop_token& stop) {
    const Scorer::Rows rows = m_scorer.next(stop);
    for (int i = 0; i < rows.count; ++i) {
      const TokenId token = window.tokens[static_cast<std::size_t>(rows.first + i + 1)];
      m_log_likelihood += logLikelihood(row(rows, i), token);
    }
    m_num_scored += rows.count;
    return rows;
  }

  // Of the tokens alone: rows of the embedding beyond them are never sampled.
  std::span<const float> row(const Scorer::Rows& rows, int i) const {
    return rows.logits.subspan(static_cast<std::size_t>(i) * m_row_size, m_num_tokens);
  }

  std::int64_t numScored() const { return m_num_scored; }
  double perplexity() const { return std::exp(-m_log_likelihood / static_cast<double>(m_num_scored)); }

 private:
  Scorer m_scorer;
  std::size_t m_num_tokens, m_row_size;
  double m_log_likelihood = 0;
  std::int64_t m_num_scored = 0;
};

int longest(const std::vector<TextWindow>& windows) {
  std::size_t size = 0;
  for (const TextWindow& window : windows) size = std::max(size, window.tokens.size());
  return static_cast<int>(size);
}

}  // namespace

std::vector<TextWindow> windowsOf(const std::vector<TokenId>& text, std::optional<TokenId> bos, int size) {
  const int num_text = size - (bos ? 1 : 0);  // tokens of the text in a window
  const int num_all = static_cast<int>(text.size());
  std::vector<TextWindow> windows;
  for (int start = 0; start < num_all; start += num_text) {
    TextWindow window;
    window.tokens.assign(text.begin() + start, text.begin() + std::min(start + num_text, num_all));
    if (bos) window.tokens.insert(window.tokens.begin(), *bos);
    window.first_row = num_all <= num_text ? 0 : size / 2;
    if (static_cast<int>(window.tokens.size()) > window.first_row + 1) windows.push_back(std::move(window));
  }
  return windows;
}

Perplexity measurePerplexity(const LaneSource& lane, const std::optional<LaneSource>& vs,
                             const std::vector<TextWindow>& windows, const std::function<void(double)>& progress,
                             const std::stop_token& stop) {
  if (windows.empty()) throw Error("the text is too short: two tokens are the least that can be scored");
  ScoredLane first(lane, longest(windows));
  std::optional<ScoredLane> second;
  if (vs) second.emplace(*vs, longest(windows));
  LogitDivergence divergence;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    const TextWindow& window = windows[w];
    first.start(window);
    if (second) second->start(window);
    for (;;) {
      const Scorer::Rows rows = first.next(window, stop);
      if (rows.count == 0) break;
      if (!second) continue;
      const Scorer::Rows others = second->next(window, stop);
      for (int i = 0; i < rows.count; ++i) {
        const std::span<const float> row = first.row(rows, i);
        divergence.add(row, second->row(others, i), static_cast<int>(row.size()));
      }
    }
    if (progress) progress(static_cast<double>(w + 1) / static_cast<double>(windows.size()));
  }
  Perplexity result{.perplexity = first.perplexity(), .num_tokens = first.numScored(), .vs = {}};
  if (second) {
    result.vs = {.perplexity = second->perplexity(),
                 .kl_mean = *divergence.klMean(),
                 .kl_p99 = *divergence.klP99(),
                 .top1_agreement = *divergence.top1Agreement()};
  }
  return result;
}

}  // namespace inferoscope::core
