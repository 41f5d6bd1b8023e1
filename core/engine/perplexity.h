// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/compare.h"
#include "core/engine/scorer.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

namespace inferoscope::core {

// One stretch of a text that is scored by itself.
struct TextWindow {
  std::vector<TokenId> tokens;
  int first_row = 0;  // rows from here on are scored: row i predicts token i + 1
};

// The windows of a text, `size` tokens each with the BOS token, if there is one, in front. Only the second half of a
// window is scored, so that every prediction has at least half a window of context, and the rest of a text that fills
// no half is left out. A text that fits one window is scored from its first row on.
std::vector<TextWindow> windowsOf(const std::vector<TokenId>& text, std::optional<TokenId> bos, int size);

// How well a model predicts a text. With a second setting: how far that one is from the first, on the same tokens.
struct Perplexity {
  double perplexity = 0;  // exp of the mean negative log-likelihood
  std::int64_t num_tokens = 0;

  struct Versus {
    double perplexity = 0;
    double kl_mean = 0;  // KL(first || second) in nats
    double kl_p99 = 0;
    double top1_agreement = 0;
  };
  std::optional<Versus> vs;
};

// Throws Error (nothing to score), Cancelled. progress: the share of windows done.
Perplexity measurePerplexity(const LaneSource& lane, const std::optional<LaneSource>& vs,
                             const std::vector<TextWindow>& windows, const std::function<void(double)>& progress,
                             const std::stop_token& stop);

}  // namespace inferoscope::core
