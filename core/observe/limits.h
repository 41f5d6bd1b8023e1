// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/op_cost.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace inferoscope::core {

// The ceilings of a machine as probed, for one number of threads. 0: not measured, and then nothing is a percentage.
struct MachineLimits {
  double read_bytes_per_s = 0;        // read bandwidth far past the caches
  double cache_read_bytes_per_s = 0;  // the same, 1 MiB a thread: in the core's own cache
  double fp32_flop_per_s = 0;         // multiply-add is two
  double f16_flop_per_s = 0;          // halves with float sums: the matrix units of a GPU
  double int8_op_per_s = 0;           // block dots of the quantized kernels, multiply-add is two
  int num_threads = 0;
  std::int64_t last_level_cache_bytes = 0;  // as the system reports it; 0: unknown
  std::int64_t cache_reach_bytes = 0;       // the largest stream, read again and again, that ran faster than memory
  std::int64_t measured_at_unix_s = 0;

  // What arithmetic is held against. Where only a GPU's matrix units were measured they stand for all of it: none is
  // faster.
  double floatPeak() const { return fp32_flop_per_s > 0 ? fp32_flop_per_s : f16_flop_per_s; }
  double intPeak() const { return int8_op_per_s > 0 ? int8_op_per_s : floatPeak(); }
  std::string_view floatPeakName() const { return fp32_flop_per_s > 0 ? "fp32" : "f16"; }

  bool measured() const { return read_bytes_per_s > 0 && floatPeak() > 0; }
};

enum class Bound : std::uint8_t { kUnknown, kBandwidth, kCompute, kOverhead, kCache };
std::string_view boundName(Bound bound);  // "bandwidth-bound", "compute-bound", "overhead-bound", "fits in cache", "-"

// The least time the machine needs for a piece of work, and what that says of a measured time. Metrics of `facts`:
// floor = max(bytes / bandwidth, flops / peak).
struct Roof {
  double memory_ns = 0;
  double compute_ns = 0;
  double floorNs() const { return memory_ns > compute_ns ? memory_ns : compute_ns; }
  Roof& operator+=(const Roof& other) {
    memory_ns += other.memory_ns;
    compute_ns += other.compute_ns;
    return *this;
  }
};

// The integer part of the arithmetic against the integer ceiling, the rest against the floats'. Zero where nothing is
// measured.
Roof roofOf(const kernels::OpCost& cost, const MachineLimits& limits);

}  // namespace inferoscope::core
