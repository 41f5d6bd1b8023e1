// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/run_summary.h"
#include "core/observe/statistics.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace inferoscope::core {

// How a figure is spoken of.
enum class MetricKind : std::uint8_t {
  kRate,    // more is faster
  kTime,    // less is faster
  kAmount,  // more or less of something
};

// One row of a comparison: the one place that names a figure of a run for tables, files and panels.
struct ComparedMetric {
  std::string_view id;     // "output_tok_s"
  std::string_view label;  // "Output tokens/s"
  std::string_view unit;   // "tok/s", "ms", "bytes", "%", ""
  MetricKind kind{};
  std::optional<double> (*value)(const RunSummary&) = nullptr;
  std::string_view without = "not measured";  // what a lane is that has no such figure
};
std::span<const ComparedMetric> comparedMetrics();

// The time of steps that computed the same batch in both lanes. Not a figure of one run: its value() is null.
inline constexpr ComparedMetric kSameBatchTime = {"same_batch_ms", "Step of the same batch", "ms", MetricKind::kTime,
                                                  nullptr};

// One row with its answer: what A and B have, and what may be said of the difference.
struct Difference {
  std::string metric;  // id
  std::string label;
  std::string unit;
  std::optional<double> a;  // medians over the repeats
  std::optional<double> b;
  std::optional<double> ratio;  // b / a
  std::optional<Interval> ci95;
  int num_pairs = 0;
  std::string verdict;
};

// Pairs of A's and B's figures -> the answer. Pairs where either has none are left out by the caller.
Difference differenceOf(const ComparedMetric& metric, std::span<const Pair> pairs, std::uint64_t seed);
// The same from both lanes' runs, in pairs. Where only one lane has the figure, it is told: "A off".
Difference differenceOf(const ComparedMetric& metric, std::span<const RunSummary> a, std::span<const RunSummary> b,
                        std::uint64_t seed);

// "B is 1.8x faster", "B has 2.5x less", "no clear difference", "only B has any", "not measured". Of more than one
// pair; a Difference of one says "one sample".
std::string verdictWords(MetricKind kind, std::optional<double> a, std::optional<double> b,
                         const std::optional<RatioEstimate>& estimate);

}  // namespace inferoscope::core
