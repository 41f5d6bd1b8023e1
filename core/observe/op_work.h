// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/byte_classes.h"
#include "core/observe/limits.h"
#include "core/observe/records.h"

#include <cstdint>
#include <optional>

namespace inferoscope::core {

// Ops taken together, one or many: what they did, how long it took, and the least time this machine needs for it.
struct OpWork {
  int num_ops = 0;
  std::int64_t measured_ns = 0;
  kernels::OpCost cost;
  Roof roof;            // sums over the ops
  double floor_ns = 0;  // sum over the ops of the larger of the two

  double excessNs() const { return static_cast<double>(measured_ns) - floor_ns; }
  bool mostlyInt8() const { return 2 * cost.int8_ops > cost.flops; }
  // None where there is nothing to divide by, or no ceiling is measured.
  std::optional<double> bytesPerSecond() const;
  std::optional<double> flopPerSecond() const;
  std::optional<double> intensity() const;    // FLOPs a byte
  std::optional<double> shareOfRoof() const;  // floor / measured; above 1 where the bytes came from a cache

  OpWork& operator+=(const OpWork& other);
};
OpWork workOf(const OpRecord& op, const MachineLimits& limits);

// Weights and keys of a step that are still in the cache when the next step wants them never reach memory.
bool staysInCache(std::uint64_t weight_and_key_bytes, const MachineLimits& limits);

// Overhead if the floor is under half of the measured time; else compute or bandwidth by the larger of the two sums;
// "fits in cache" instead of bandwidth where the bytes of the step stay there, or were faster than memory gives them.
Bound boundOf(const OpWork& work, bool step_stays_in_cache, const MachineLimits& limits);

}  // namespace inferoscope::core
