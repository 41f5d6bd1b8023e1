// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/op_work.h"

#include <memory>
#include <span>
#include <vector>

namespace inferoscope::core {

// The ops of one kind in the steps of one phase: a point of the roofline at (intensity, FLOP/s).
struct RooflinePoint {
  Phase phase{};
  kernels::OpKind kind{};
  OpWork work;
  double time_share = 0;  // of the measured time of the phase's steps, software included
  Bound bound = Bound::kUnknown;

  bool onChart() const { return work.cost.flops > 0 && work.measured_ns > 0; }  // copies have no place on log axes
};

// One point for each phase and kind of op that occurs, prefill first, kinds in their own order.
std::vector<RooflinePoint> rooflinePoints(std::span<const std::shared_ptr<const StepRecord>> steps,
                                          const MachineLimits& limits);

// What a machine of these ceilings reaches at most: intensity * bandwidth, up to the peak.
double attainable(double intensity, double bytes_per_s, double flop_per_s);

// FLOPs a byte where the two meet; 0 without a bandwidth.
double ridge(double bytes_per_s, double flop_per_s);

}  // namespace inferoscope::core
