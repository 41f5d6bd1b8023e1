// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace inferoscope::core {

// What two settings gave for the same piece of work: a repeat, a request or a step.
struct Pair {
  double a = 0;
  double b = 0;
};

struct Interval {
  double low = 0;
  double high = 0;
};

// b / a over pairs: the geometric mean, so that B against A is exactly the inverse of A against B.
struct RatioEstimate {
  double ratio = 1;
  std::optional<Interval> ci95;  // none for a single pair
  int num_pairs = 0;
};

// None unless all pairs have two values above 0. The interval is a percentile bootstrap of the log
// ratio, widened by Student's t for few pairs, which the plain one is too narrow for (Hesterberg 2015, "expanded
// percentile interval"). The same seed gives the same interval.
std::optional<RatioEstimate> bootstrapRatio(std::span<const Pair> pairs, std::uint64_t seed);

// The difference a clear verdict is at least of: the whole interval lies beyond it.
inline constexpr double kClearRatio = 1.02;

enum class Direction : std::uint8_t { kUnclear, kSame, kUp, kDown };
// Of b against a: kSame if every pair is equal.
Direction directionOf(const RatioEstimate& estimate);

}  // namespace inferoscope::core
