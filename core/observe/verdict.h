// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/op_work.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace inferoscope::core {

// A step with prompt tokens is a prefill step, also if others decode beside them.
Phase phaseOf(const StepRecord& step);

// What a run of steps of one phase used of the machine, and what that makes it bound by.
struct Verdict {
  Phase phase{};
  Bound bound = Bound::kUnknown;
  int num_steps = 0;
  std::int64_t measured_ns = 0;  // sum of the steps' durations
  std::int64_t num_tokens = 0;   // prefill: prompt tokens; decode: sampled tokens
  Roof roof;                     // sum over the ops
  double floor_ns = 0;           // sum over the ops of the larger of the two
  kernels::OpCost cost;
  double process_cpu_s = 0;
  double gpu_busy_ns = 0;  // of the steps whose share is known
  std::int64_t gpu_known_ns = 0;
  int num_threads = 0;

  double seconds() const { return static_cast<double>(measured_ns) * 1e-9; }
  double bytesPerSecond() const { return static_cast<double>(cost.bytes()) / seconds(); }
  double flopPerSecond() const { return static_cast<double>(cost.flops) / seconds(); }
  double tokensPerSecond() const { return static_cast<double>(num_tokens) / seconds(); }
  // Of the probed ceilings; none where they are not measured.
  std::optional<double> bandwidthUse() const;
  std::optional<double> computeUse() const;
  // Of the threads that computed; over 1 where others of the process ran too.
  double processBusy() const { return process_cpu_s / seconds() / num_threads; }
  // As the GPU's driver reports it: that a kernel ran, however little of the device it used.
  std::optional<double> gpuBusy() const;
};

// The phase's steps among `steps`; none if there are none.
std::optional<Verdict> judge(std::span<const std::shared_ptr<const StepRecord>> steps, Phase phase,
                             const MachineLimits& limits);

// "DECODE: bandwidth-bound, 81% of 34.0 GB/s, 14% of 194 GFLOP/s (process: 100% busy)". Without measured ceilings
// there are no percentages: "DECODE: 27.5 GB/s, 27 GFLOP/s (process: 100% busy)". On a GPU whose driver tells:
// "(process: 100% busy, GPU: 98% busy by NVML)".
std::string headline(const Verdict& verdict, const MachineLimits& limits);

}  // namespace inferoscope::core
