// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/snapshot.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace inferoscope::core {

// Figures of requests, on the lane's clock. What has no value has none: never 0, infinite or NaN.

// p in 0..100, linear between the two nearest values; none of nothing.
std::optional<double> percentile(std::vector<double> values, double p);

struct Percentiles {
  std::optional<double> p50, p90, p99;
};
Percentiles percentiles(const std::vector<double>& values);

// First token - arrival.
std::optional<double> ttftMs(std::int64_t arrival_ns, std::optional<std::int64_t> first_token_ns);
// (last - first token) / (tokens - 1); none for one token.
std::optional<double> tpotMs(std::optional<std::int64_t> first_token_ns, std::optional<std::int64_t> last_token_ns,
                             int num_output_tokens);
// Amount per second over a time; none over no time.
std::optional<double> perSecond(double amount, std::int64_t duration_ns);

}  // namespace inferoscope::core
