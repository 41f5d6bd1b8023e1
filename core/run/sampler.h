// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/ids.h"
#include "core/schedule/request.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inferoscope::core {

// What a filter chain leaves: ids by falling probability (ids break ties) and their probabilities, summing to 1.
struct Candidates {
  std::vector<TokenId> ids;
  std::vector<float> probs;
};

inline constexpr std::string_view kNonFiniteLogits =
    "non-finite logits: the model's weights or its arithmetic are broken (NaN or infinity)";
inline constexpr std::string_view kNothingToSample = "no token is left to sample: all logits are banned or non-finite";

// Picks the next token from logits: bias, repetition penalty, then greedy, or temperature, top-k, top-p, min-p and a
// draw. The draw depends on (seed, position) alone, so that batch make-up never changes a sample.
class Sampler {
 public:
  struct Result {
    TokenId token = -1;
    std::string error{};  // non-finite logits; no token then
  };

  // logits: [vocab_size]; ids at num_tokens and above are never sampled. history: the sequence's tokens so far.
  Result sample(std::span<const float> logits, int num_tokens, const SamplingParams& params,
                std::span<const TokenId> history, std::int64_t position);

  // The stages, for tests and for views.
  static void adjust(std::span<float> logits, const SamplingParams& params, std::span<const TokenId> history);
  static Candidates filter(std::span<const float> logits, const SamplingParams& params);

 private:
  std::vector<float> m_scratch;  // [vocab_size]
};

}  // namespace inferoscope::core
