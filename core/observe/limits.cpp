// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/limits.h"

namespace inferoscope::core {
namespace {

double nanoseconds(std::uint64_t amount, double per_second) {
  return per_second > 0 ? static_cast<double>(amount) / per_second * 1e9 : 0.0;
}

}  // namespace

Roof roofOf(const kernels::OpCost& cost, const MachineLimits& limits) {
  return {.memory_ns = nanoseconds(cost.bytes(), limits.read_bytes_per_s),
          .compute_ns = nanoseconds(cost.flops - cost.int8_ops, limits.floatPeak()) +
                        nanoseconds(cost.int8_ops, limits.intPeak())};
}

}  // namespace inferoscope::core
