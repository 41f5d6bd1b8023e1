// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/ids.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace inferoscope::core {

struct SamplingParams {
  float temperature = 0.0F;     // 0 (or too small to divide by): greedy, lowest id on a tie
  int top_k = 0;                // 0: all
  float top_p = 1.0F;           // smallest set whose probability reaches top_p; never empty
  float min_p = 0.0F;           // drops ids below min_p times the best one's probability
  float repeat_penalty = 1.0F;  // divides positive, multiplies negative logits, once per id in the window
  int repeat_last_n = 64;
  std::uint64_t seed = 0;
  std::vector<std::pair<TokenId, float>> logit_bias;  // added to the logits first
};

// What somebody asks of an engine.
struct Request {
  std::string label;            // for people: "chat 3", "you"
  std::vector<TokenId> prompt;  // not empty
  int max_new_tokens = 128;
  SamplingParams sampling;
  std::vector<std::string> stop;    // stop strings
  // When it was asked, on the lane's clock: a step may have been running then. None: when it is submitted.
  std::optional<std::int64_t> arrival_ns;
  bool ignore_end_of_turn = false;  // workloads with given output lengths
};

}  // namespace inferoscope::core
