// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace inferoscope::core {
namespace {

constexpr float kMinTemperature = 1e-6F;  // below it, dividing by it overflows: greedy

// Uniform in [0, 1) from a counter: SplitMix64's finalizer (Steele, Lea, Flood 2014) over seed and position.
double uniform(std::uint64_t seed, std::int64_t position) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(position) + 0x632be59bd9b4e019U;
  for (int round = 0; round < 2; ++round) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    x ^= x >> 31;
  }
  return static_cast<double>(x >> 11) * 0x1.0p-53;
}

TokenId argmax(std::span<const float> logits) {
  return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
}

bool isGreedy(const SamplingParams& params) {
  return !(params.temperature >= kMinTemperature);
}

// -inf is a ban, all else must be finite, and something must be left.
bool usable(std::span<const float> logits) {
  bool any = false;
  for (const float logit : logits) {
    if (std::isnan(logit) || logit == std::numeric_limits<float>::infinity()) return false;
    any |= logit != -std::numeric_limits<float>::infinity();
  }
  return any;
}

// All ids that are not banned, best first as far as the filters look: the first top_k, or all.
std::vector<TokenId> ranked(std::span<const float> logits, int top_k) {
  std::vector<TokenId> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::erase_if(
      ids, [&](TokenId id) { return logits[static_cast<std::size_t>(id)] == -std::numeric_limits<float>::infinity(); });
  const auto better = [&](TokenId a, TokenId b) {
    const float x = logits[static_cast<std::size_t>(a)];
    const float y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  if (top_k > 0 && static_cast<std::size_t>(top_k) < ids.size()) {
    std::partial_sort(ids.begin(), ids.begin() + top_k, ids.end(), better);
    ids.resize(static_cast<std::size_t>(top_k));
  } else {
    std::ranges::sort(ids, better);
  }
  return ids;
}

void normalize(std::vector<float>& probs) {
  const double sum = std::accumulate(probs.begin(), probs.end(), 0.0);
  for (float& prob : probs) prob = static_cast<float>(prob / sum);
}

// Keeps the first n of the ranked candidates, at least one.
void keep(Candidates& candidates, std::size_t n) {
  n = std::max<std::size_t>(n, 1);
  if (n >= candidates.ids.size()) return;
  candidates.ids.resize(n);
  candidates.probs.resize(n);
  normalize(candidates.probs);
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
  Candidates candidates;
  candidates.ids = ranked(logits, params.top_k);
  if (candidates.ids.empty()) return candidates;
  // A temperature of 0 is greedy and is answered before; here 0 stands for "not set".
  const float temperature = isGreedy(params) ? 1.0F : params.temperature;
  const float best = logits[static_cast<std::size_t>(candidates.ids.front())];
  candidates.probs.reserve(candidates.ids.size());
  for (const TokenId id : candidates.ids) {
    candidates.probs.push_back(std::exp((logits[static_cast<std::size_t>(id)] - best) / temperature));
  }
  normalize(candidates.probs);

  if (params.top_p < 1.0F) {
    double sum = 0;
    std::size_t n = 0;
    while (n < candidates.probs.size() && sum < static_cast<double>(params.top_p)) sum += candidates.probs[n++];
    keep(candidates, n);
  }
  if (params.min_p > 0.0F) {
    const float least = params.min_p * candidates.probs.front();
    const auto end = std::ranges::find_if(candidates.probs, [&](float prob) { return prob < least; });
    keep(candidates, static_cast<std::size_t>(end - candidates.probs.begin()));
  }
  return candidates;
}

Sampler::Result Sampler::sample(std::span<const float> logits, int num_tokens, const SamplingParams& params,
                                std::span<const TokenId> history, std::int64_t position) {
  logits = logits.first(std::min(logits.size(), static_cast<std::size_t>(num_tokens)));
  if (!usable(logits)) {
    return {.error = "non-finite logits: the model's weights or its arithmetic are broken (NaN or infinity)"};
  }
  m_scratch.assign(logits.begin(), logits.end());
  adjust(m_scratch, params, history);
  if (!usable(m_scratch)) return {.error = "no token is left to sample: all logits are banned or non-finite"};
  if (isGreedy(params)) return {.token = argmax(m_scratch)};

  const Candidates candidates = filter(m_scratch, params);
  double remaining = uniform(params.seed, position);
  for (std::size_t i = 0; i < candidates.ids.size(); ++i) {
    remaining -= candidates.probs[i];
    if (remaining < 0) return {.token = candidates.ids[i]};
  }
  return {.token = candidates.ids.back()};
}

}  // namespace inferoscope::core
