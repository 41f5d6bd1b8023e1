// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/perplexity.h"

#include "core/error.h"
#include "core/observe/logit_divergence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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

std::vector<TextWindow> windowsOf(std::string_view text, const Model& model, int size) {
  const Tokenizer& tokenizer = *model.tokenizer;
  const auto ids = tokenizer.encode(text, {.add_bos = false, .parse_special = false});
  const bool has_bos = !tokenizer.encode("").empty();
  return windowsOf(ids, has_bos ? std::optional(tokenizer.bos()) : std::nullopt,
                   std::min(size, model.config.context_length));
}

struct PerplexityRun::Impl {
  Impl(const LaneSource& lane, const std::optional<LaneSource>& vs, std::vector<TextWindow> texts)
      : windows(std::move(texts)), first(lane, longest(windows)) {
    if (vs) second.emplace(*vs, longest(windows));
  }

  void startNext() {
    first.start(windows[next]);
    if (second) second->start(windows[next]);
    reading = true;
  }

  std::vector<TextWindow> windows;
  ScoredLane first;
  std::optional<ScoredLane> second;
  LogitDivergence divergence;
  std::size_t next = 0;
  bool reading = false;  // window `next` has begun
};

PerplexityRun::PerplexityRun(const LaneSource& lane, const std::optional<LaneSource>& vs,
                             std::vector<TextWindow> windows) {
  if (windows.empty()) throw Error("the text is too short: two tokens are the least that can be scored");
  m_impl = std::make_unique<Impl>(lane, vs, std::move(windows));
}

PerplexityRun::~PerplexityRun() = default;

bool PerplexityRun::advance(const std::stop_token& stop) {
  Impl& run = *m_impl;
  if (run.next == run.windows.size()) return false;
  if (!run.reading) run.startNext();
  const TextWindow& window = run.windows[run.next];
  const Scorer::Rows rows = run.first.next(window, stop);
  if (rows.count == 0) {
    run.reading = false;
    ++run.next;
    return true;
  }
  if (!run.second) return true;
  const Scorer::Rows others = run.second->next(window, stop);
  for (int i = 0; i < rows.count; ++i) {
    const std::span<const float> row = run.first.row(rows, i);
    run.divergence.add(row, run.second->row(others, i), static_cast<int>(row.size()));
  }
  return true;
}

double PerplexityRun::share() const {
  return static_cast<double>(m_impl->next) / static_cast<double>(m_impl->windows.size());
}

Perplexity PerplexityRun::result() const {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const Impl& run = *m_impl;
  Perplexity result{.perplexity = run.first.perplexity(), .num_tokens = run.first.numScored(), .vs = {}};
  if (run.second) {
    result.vs = {.perplexity = run.second->perplexity(),
                 .kl_mean = run.divergence.klMean().value_or(kNone),
                 .kl_p99 = run.divergence.klP99().value_or(kNone),
                 .top1_agreement = run.divergence.top1Agreement().value_or(kNone)};
  }
  return result;
}

Perplexity measurePerplexity(const LaneSource& lane, const std::optional<LaneSource>& vs,
                             const std::vector<TextWindow>& windows, const std::function<void(double)>& progress,
                             const std::stop_token& stop) {
  PerplexityRun run(lane, vs, windows);
  while (run.advance(stop)) {
    if (progress) progress(run.share());
  }
  return run.result();
}

}  // namespace inferoscope::core
