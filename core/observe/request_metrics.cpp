// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/request_metrics.h"

#include <algorithm>
#include <cmath>

namespace inferoscope::core {

std::optional<double> percentile(std::vector<double> values, double p) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const double place = std::clamp(p, 0.0, 100.0) / 100.0 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

Percentiles percentiles(const std::vector<double>& values) {
  return {percentile(values, 50), percentile(values, 90), percentile(values, 99)};
}

std::optional<double> ttftMs(std::int64_t arrival_ns, std::optional<std::int64_t> first_token_ns) {
  if (!first_token_ns) return std::nullopt;
  return static_cast<double>(*first_token_ns - arrival_ns) * 1e-6;
}

std::optional<double> tpotMs(std::optional<std::int64_t> first_token_ns, std::optional<std::int64_t> last_token_ns,
                             int num_output_tokens) {
  if (!first_token_ns || !last_token_ns || num_output_tokens < 2) return std::nullopt;
  return static_cast<double>(*last_token_ns - *first_token_ns) * 1e-6 / (num_output_tokens - 1);
}

std::optional<double> perSecond(double amount, std::int64_t duration_ns) {
  if (duration_ns <= 0) return std::nullopt;
  return amount * 1e9 / static_cast<double>(duration_ns);
}

}  // namespace inferoscope::core
