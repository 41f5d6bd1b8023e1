// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/statistics.h"

#include "core/observe/request_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

namespace inferoscope::core {
namespace {

constexpr int kResamples = 2000;
constexpr double kNormal975 = 1.959964;  // of the normal distribution: 2.5% lie above

// Student's t for 97.5%: a table where the expansion around the normal quantile is poor.
double studentT975(int freedom) {
  static constexpr std::array<double, 5> kTable = {12.706, 4.303, 3.182, 2.776, 2.571};
  if (freedom <= std::ssize(kTable)) return kTable[static_cast<std::size_t>(freedom - 1)];
  constexpr double z = kNormal975;
  const double v = freedom;
  return z + (z * z * z + z) / (4 * v) + (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * v * v);
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Means of resamples drawn with replacement. mt19937_64 gives the same numbers with every standard library.
std::vector<double> resampledMeans(std::span<const double> values, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> means;
  means.reserve(kResamples);
  for (int i = 0; i < kResamples; ++i) {
    double sum = 0;
    for (std::size_t n = 0; n < values.size(); ++n) sum += values[random() % values.size()];
    means.push_back(sum / static_cast<double>(values.size()));
  }
  return means;
}

Interval interval(std::span<const double> log_ratios, std::uint64_t seed) {
  const double middle = mean(log_ratios);
  const auto n = static_cast<int>(log_ratios.size());
  const double widen = studentT975(n - 1) / kNormal975 * std::sqrt(double(n) / (n - 1));
  const std::vector<double> means = resampledMeans(log_ratios, seed);
  const double low = *percentile(means, 2.5) - middle;
  const double high = *percentile(means, 97.5) - middle;
  return {std::exp(middle + widen * low), std::exp(middle + widen * high)};
}

}  // namespace

std::optional<RatioEstimate> bootstrapRatio(std::span<const Pair> pairs, std::uint64_t seed) {
  std::vector<double> log_ratios;
  for (const Pair& pair : pairs) {
    if (!(pair.a > 0 && pair.b > 0)) return std::nullopt;  // leaving it out would tell of the other pairs alone
    log_ratios.push_back(std::log(pair.b / pair.a));
  }
  if (log_ratios.empty()) return std::nullopt;
  RatioEstimate estimate{.ratio = std::exp(mean(log_ratios)), .ci95 = {}, .num_pairs = int(log_ratios.size())};
  if (log_ratios.size() > 1) estimate.ci95 = interval(log_ratios, seed);
  return estimate;
}

Direction directionOf(const RatioEstimate& estimate) {
  if (!estimate.ci95) return Direction::kUnclear;
  if (estimate.ci95->low == 1 && estimate.ci95->high == 1) return Direction::kSame;
  if (estimate.ci95->low > kClearRatio) return Direction::kUp;
  if (estimate.ci95->high < 1 / kClearRatio) return Direction::kDown;
  return Direction::kUnclear;
}

}  // namespace inferoscope::core
