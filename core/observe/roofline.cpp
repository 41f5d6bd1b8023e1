// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/roofline.h"

#include "core/observe/verdict.h"

#include <algorithm>
#include <array>

namespace inferoscope::core {
namespace {

struct PhaseSum {
  std::array<OpWork, kernels::kNumOpKinds> kinds;
  std::int64_t measured_ns = 0;
  std::uint64_t weight_and_key_bytes = 0;
  int num_steps = 0;
};

}  // namespace

std::vector<RooflinePoint> rooflinePoints(std::span<const std::shared_ptr<const StepRecord>> steps,
                                          const MachineLimits& limits) {
  std::array<PhaseSum, 2> sums;
  for (const auto& step : steps) {
    PhaseSum& sum = sums[static_cast<std::size_t>(phaseOf(*step))];
    ++sum.num_steps;
    sum.measured_ns += step->duration_ns;
    sum.weight_and_key_bytes += step->cost.weights + step->cost.kv_read;
    for (const OpRecord& op : step->ops) sum.kinds[static_cast<std::size_t>(op.kind)] += workOf(op, limits);
  }
  std::vector<RooflinePoint> points;
  for (const Phase phase : {Phase::kPrefill, Phase::kDecode}) {
    const PhaseSum& sum = sums[static_cast<std::size_t>(phase)];
    if (sum.measured_ns <= 0) continue;
    const bool in_cache = staysInCache(sum.weight_and_key_bytes / static_cast<std::uint64_t>(sum.num_steps), limits);
    for (int kind = 0; kind < kernels::kNumOpKinds; ++kind) {
      const OpWork& work = sum.kinds[static_cast<std::size_t>(kind)];
      if (work.num_ops == 0) continue;
      points.push_back({.phase = phase,
                        .kind = static_cast<kernels::OpKind>(kind),
                        .work = work,
                        .time_share = static_cast<double>(work.measured_ns) / static_cast<double>(sum.measured_ns),
                        .bound = boundOf(work, in_cache, limits)});
    }
  }
  return points;
}

double attainable(double intensity, double bytes_per_s, double flop_per_s) {
  return std::min(intensity * bytes_per_s, flop_per_s);
}

double ridge(double bytes_per_s, double flop_per_s) {
  return bytes_per_s > 0 ? flop_per_s / bytes_per_s : 0;
}

}  // namespace inferoscope::core
