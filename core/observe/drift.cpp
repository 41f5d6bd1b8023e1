// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/drift.h"

#include "core/observe/request_metrics.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace inferoscope::core {
namespace {

bool agree(double a, double b) {
  return std::abs(a - b) <= kMostDrift * std::max(a, b);
}

}  // namespace

bool heldStill(const MachineLimits& before, const MachineLimits& after) {
  return agree(before.read_bytes_per_s, after.read_bytes_per_s) &&
         agree(before.fp32_flop_per_s, after.fp32_flop_per_s) && agree(before.f16_flop_per_s, after.f16_flop_per_s) &&
         agree(before.int8_op_per_s, after.int8_op_per_s);
}

MachineLimits medianOf(std::span<const MachineLimits> probes) {
  MachineLimits median = probes.back();
  for (double MachineLimits::*field :
       {&MachineLimits::read_bytes_per_s, &MachineLimits::cache_read_bytes_per_s, &MachineLimits::fp32_flop_per_s,
        &MachineLimits::f16_flop_per_s, &MachineLimits::int8_op_per_s}) {
    std::vector<double> values;
    for (const MachineLimits& probe : probes) values.push_back(probe.*field);
    median.*field = *percentile(values, 50);
  }
  return median;
}

}  // namespace inferoscope::core
