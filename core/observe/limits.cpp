// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/limits.h"

namespace inferoscope::core {

Roof roofOf(const kernels::OpCost& cost, const MachineLimits& limits, double peak_flop_per_s) {
  if (limits.read_bytes_per_s <= 0 || peak_flop_per_s <= 0) return {};
  return {.memory_ns = static_cast<double>(cost.bytes()) / limits.read_bytes_per_s * 1e9,
          .compute_ns = static_cast<double>(cost.flops) / peak_flop_per_s * 1e9};
}

}  // namespace inferoscope::core
