// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/sampler.h"

#include "kernels/counter_random.h"
#include "kernels/ops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace inferoscope::core {
namespace {

// The lowest id of the largest logit. Some lanes side by side, so that a compiler makes vectors of them: a scalar
// search of a large vocabulary takes longer than a layer of a small model.
TokenId argmax(std::span<const float> logits) {
  constexpr std::size_t kLanes = 16;
  float most[kLanes];
  std::ranges::fill(most, -std::numeric_limits<float>::infinity());
  std::size_t id = 0;
  for (; id + kLanes <= logits.size(); id += kLanes) {
    for (std::size_t i = 0; i < kLanes; ++i) most[i] = logits[id + i] > most[i] ? logits[id + i] : most[i];
  }
  for (; id < logits.size(); ++id) most[0] = std::max(most[0], logits[id]);
  return static_cast<TokenId>(std::ranges::find(logits, *std::ranges::max_element(most)) - logits.begin());
}

bool isGreedy(const SamplingParams& params) {
  return !(params.temperature >= kernels::kLeastTemperature);
}

// -inf is a ban, all else must be finite, and something must be left. Without a way out of the loop, for the same
// reason.
bool usable(std::span<const float> logits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  int num_good = 0;  // NaN is not less than infinity either
  int num_left = 0;
  for (const float logit : logits) {
    num_good += logit < kInfinity ? 1 : 0;
    num_left += logit > -kInfinity ? 1 : 0;
  }
  return num_good == static_cast<int>(logits.size()) && num_left > 0;
}

std::vector<TokenId> notBanned(std::span<const float> logits) {
  std::vector<TokenId> ids;
  ids.reserve(logits.size());
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (logits[id] != -std::numeric_limits<float>::infinity()) ids.push_back(static_cast<TokenId>(id));
  }
  return ids;
}

// Ids by falling probability, ranked only as far as somebody looks: of a large vocabulary nearly all of the
// probability lies in a few ids, and sorting the rest would take longer than a layer of the model.
class Ranking {
 public:
  Ranking(std::span<const float> logits, const SamplingParams& params)
      : m_logits(logits), m_ids(notBanned(logits)), m_temperature(isGreedy(params) ? 1.0F : params.temperature) {
    const auto top_k = static_cast<std::size_t>(std::max(params.top_k, 0));
    if (top_k > 0 && top_k < m_ids.size()) {
      rankTo(top_k);
      m_ids.resize(top_k);
    }
    if (m_ids.empty()) return;
    rankTo(1);
    for (const TokenId id : m_ids) m_sum += weight(id);
  }

  std::size_t size() const { return m_ids.size(); }
  TokenId id(std::size_t rank) {
    if (rank >= m_num_ranked) rankTo(std::max(rank + 1, kGrowth * m_num_ranked));
    return m_ids[rank];
  }
  // Among all that are left after top-k.
  double probability(std::size_t rank) { return weight(id(rank)) / m_sum; }

 private:
  static constexpr std::size_t kGrowth = 8;

  float logit(TokenId id) const { return m_logits[static_cast<std::size_t>(id)]; }
  double weight(TokenId id) const { return std::exp((logit(id) - logit(m_ids.front())) / m_temperature); }

  void rankTo(std::size_t count) {
    count = std::min(count, m_ids.size());
    if (count <= m_num_ranked) return;
    const auto better = [&](TokenId a, TokenId b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; };
    const auto at = [&](std::size_t rank) { return m_ids.begin() + static_cast<std::ptrdiff_t>(rank); };
    std::partial_sort(at(m_num_ranked), at(count), m_ids.end(), better);
    m_num_ranked = count;
  }

  std::span<const float> m_logits;
  std::vector<TokenId> m_ids;
  std::size_t m_num_ranked = 0;
  float m_temperature;  // a temperature of 0 is greedy and is answered before; here it stands for "not set"
  double m_sum = 0;
};

// How many of the ranked ids top-p and min-p leave: at least one.
std::size_t numKept(Ranking& ranking, const SamplingParams& params) {
  std::size_t n = ranking.size();
  if (params.top_p < 1.0F) {
    double sum = 0;
    for (n = 0; n < ranking.size() && sum < static_cast<double>(params.top_p); ++n) sum += ranking.probability(n);
    n = std::max<std::size_t>(n, 1);
  }
  if (params.min_p > 0.0F) {
    const double least = static_cast<double>(params.min_p) * ranking.probability(0);
    std::size_t above = 1;
    while (above < n && ranking.probability(above) >= least) ++above;
    n = above;
  }
  return n;
}

// The rank where the summed probability of those kept passes `draw`, in [0, 1).
std::size_t drawRank(Ranking& ranking, const SamplingParams& params, double draw) {
  const bool cut = params.top_p < 1.0F || params.min_p > 0.0F;
  const std::size_t num_kept = cut ? numKept(ranking, params) : ranking.size();
  double remaining = draw;
  if (cut) {
    double sum = 0;
    for (std::size_t rank = 0; rank < num_kept; ++rank) sum += ranking.probability(rank);
    remaining *= sum;
  }
  for (std::size_t rank = 0; rank < num_kept; ++rank) {
    remaining -= ranking.probability(rank);
    if (remaining < 0) return rank;
  }
  return num_kept - 1;
}

}  // namespace

void Sampler::adjust(std::span<float> logits, const SamplingParams& params, std::span<const TokenId> history) {
  const auto known = [&](TokenId id) { return id >= 0 && static_cast<std::size_t>(id) < logits.size(); };
  for (const auto& [id, bias] : params.logit_bias) {
    if (known(id)) logits[static_cast<std::size_t>(id)] += bias;
  }
  if (params.repeat_penalty == 1.0F || params.repeat_penalty <= 0.0F || params.repeat_last_n <= 0) return;
  const std::size_t window = std::min(history.size(), static_cast<std::size_t>(params.repeat_last_n));
  std::vector<TokenId> seen(history.end() - static_cast<std::ptrdiff_t>(window), history.end());
  std::ranges::sort(seen);
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (const TokenId id : seen) {
    if (!known(id)) continue;
    float& logit = logits[static_cast<std::size_t>(id)];
    logit = logit > 0 ? logit / params.repeat_penalty : logit * params.repeat_penalty;
  }
}

Candidates Sampler::filter(std::span<const float> logits, const SamplingParams& params) {
  Ranking ranking(logits, params);
  Candidates candidates;
  if (ranking.size() == 0) return candidates;
  const std::size_t num_kept = numKept(ranking, params);
  double sum = 0;
  for (std::size_t rank = 0; rank < num_kept; ++rank) sum += ranking.probability(rank);
  for (std::size_t rank = 0; rank < num_kept; ++rank) {
    candidates.ids.push_back(ranking.id(rank));
    candidates.probs.push_back(static_cast<float>(ranking.probability(rank) / sum));
  }
  return candidates;
}

Sampler::Result Sampler::sample(std::span<const float> logits, int num_tokens, const SamplingParams& params,
                                std::span<const TokenId> history, std::int64_t position) {
  logits = logits.first(std::min(logits.size(), static_cast<std::size_t>(num_tokens)));
  if (!usable(logits)) return {.error = std::string(kNonFiniteLogits)};
  if (!params.logit_bias.empty() || params.repeat_penalty != 1.0F) {
    m_scratch.assign(logits.begin(), logits.end());
    adjust(m_scratch, params, history);
    logits = m_scratch;
    if (!usable(logits)) return {.error = std::string(kNothingToSample)};
  }
  if (isGreedy(params)) return {.token = argmax(logits)};
  Ranking ranking(logits, params);
  return {.token = ranking.id(drawRank(ranking, params, kernels::uniformAt(params.seed, position)))};
}

}  // namespace inferoscope::core
