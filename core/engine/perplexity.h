// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/comparison_run.h"
#include "core/engine/scorer.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
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

inline constexpr int kTextWindow = 512;  // tokens, unless asked for others

// The windows of a plain text: what looks like a special token in it is none.
std::vector<TextWindow> windowsOf(std::string_view text, const Model& model, int size = kTextWindow);

// How well a model predicts a text. With a second setting: how far that one is from the first, on the same tokens.
struct Perplexity {
  double perplexity = 0;  // exp of the mean negative log-likelihood
  std::int64_t num_tokens = 0;

  struct Versus {
    double perplexity = 0;
    double kl_mean = 0;  // KL(first || second) in nats; all three are not a number where a logit was none
    double kl_p99 = 0;
    double top1_agreement = 0;
  };
  std::optional<Versus> vs;
};

// The same in small pieces, so that whoever drives it can do something else in between.
class PerplexityRun {
 public:
  // Throws Error: nothing to score.
  PerplexityRun(const LaneSource& lane, const std::optional<LaneSource>& vs, std::vector<TextWindow> windows);
  ~PerplexityRun();

  bool advance(const std::stop_token& stop);  // some rows; false: all is scored. Throws Cancelled
  double share() const;                       // of the windows, 0..1
  Perplexity result() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> m_impl;
};

// Throws Error (nothing to score), Cancelled. progress: the share of windows done.
Perplexity measurePerplexity(const LaneSource& lane, const std::optional<LaneSource>& vs,
                             const std::vector<TextWindow>& windows, const std::function<void(double)>& progress,
                             const std::stop_token& stop);

}  // namespace inferoscope::core
