// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/step_time.h"

#include "core/observe/verdict.h"

#include <algorithm>
#include <array>
#include <functional>

namespace inferoscope::core {
namespace {

std::vector<StepTime::OfKind> kindsOf(const StepRecord& step, const MachineLimits& limits) {
  std::array<OpWork, kernels::kNumOpKinds> sums;
  for (const OpRecord& op : step.ops) sums[static_cast<std::size_t>(op.kind)] += workOf(op, limits);
  std::vector<StepTime::OfKind> kinds;
  for (int kind = 0; kind < kernels::kNumOpKinds; ++kind) {
    const OpWork& work = sums[static_cast<std::size_t>(kind)];
    if (work.num_ops > 0) kinds.push_back({static_cast<kernels::OpKind>(kind), work});
  }
  std::ranges::stable_sort(kinds, std::greater{}, [](const StepTime::OfKind& of) { return of.work.excessNs(); });
  return kinds;
}

std::vector<StepTime::OfLayer> layersOf(const StepRecord& step, bool in_cache, const MachineLimits& limits) {
  std::vector<StepTime::OfLayer> layers;
  for (const OpRecord& op : step.ops) {
    if (layers.empty() || layers.back().layer != op.layer) layers.push_back({.layer = op.layer, .work = {}, .ops = {}});
    const OpWork work = workOf(op, limits);
    layers.back().work += work;
    layers.back().ops.push_back({op.name, op.kernel, op.kind, work, boundOf(work, in_cache, limits)});
  }
  for (StepTime::OfLayer& layer : layers) layer.bound = boundOf(layer.work, in_cache, limits);
  return layers;
}

std::int64_t betweenOps(const StepRecord& step) {
  std::int64_t sum = 0;
  for (std::size_t i = 1; i < step.ops.size(); ++i) {
    const OpRecord& before = step.ops[i - 1];
    sum += step.ops[i].start_ns - (before.start_ns + before.duration_ns);
  }
  return sum;
}

}  // namespace

StepTime stepTimeOf(const StepRecord& step, const MachineLimits& limits) {
  StepTime time;
  time.step_index = step.step_index;
  time.phase = phaseOf(step);
  time.measured_ns = step.duration_ns;
  time.kinds = kindsOf(step, limits);
  time.stays_in_cache = staysInCache(step.cost.weights + step.cost.kv_read, limits);
  time.layers = layersOf(step, time.stays_in_cache, limits);
  for (const StepTime::OfLayer& layer : time.layers) time.ops += layer.work;
  time.between_ops_ns = betweenOps(step);
  time.around_ops_ns = step.duration_ns - time.ops.measured_ns - time.between_ops_ns;
  return time;
}

}  // namespace inferoscope::core
