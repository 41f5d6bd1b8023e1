// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/verdict.h"

#include <fmt/format.h>

namespace inferoscope::core {
namespace {

void add(Verdict& verdict, const StepRecord& step, const MachineLimits& limits) {
  ++verdict.num_steps;
  verdict.measured_ns += step.duration_ns;
  verdict.num_tokens += verdict.phase == Phase::kPrefill ? step.num_prefill_tokens : step.num_decode_tokens;
  verdict.cost += step.cost;
  verdict.process_cpu_s += step.process_cpu_s;
  if (step.gpu_busy) {
    verdict.gpu_busy_ns += *step.gpu_busy * static_cast<double>(step.duration_ns);
    verdict.gpu_known_ns += step.duration_ns;
  }
  verdict.num_threads = step.num_threads;
  for (const OpRecord& op : step.ops) {
    const Roof roof = roofOf(op.cost, limits);
    verdict.roof += roof;
    verdict.floor_ns += roof.floorNs();
  }
}

Bound boundOf(const Verdict& verdict, const MachineLimits& limits) {
  const std::uint64_t bytes_per_step =
      (verdict.cost.weights + verdict.cost.kv_read) / static_cast<std::uint64_t>(verdict.num_steps);
  const OpWork work{
      .measured_ns = verdict.measured_ns, .cost = verdict.cost, .roof = verdict.roof, .floor_ns = verdict.floor_ns};
  return boundOf(work, staysInCache(bytes_per_step, limits), limits);
}

// The ceiling that most of the arithmetic stands under, in words.
std::string computeCeiling(const Verdict& verdict, const MachineLimits& limits) {
  const bool integer = 2 * verdict.cost.int8_ops > verdict.cost.flops;
  if (integer && limits.int8_op_per_s > 0) return fmt::format("{:.0f} GOP/s int8", limits.int8_op_per_s * 1e-9);
  return fmt::format("{:.0f} GFLOP/s{}", limits.floatPeak() * 1e-9, limits.fp32_flop_per_s > 0 ? "" : " f16");
}

}  // namespace

Phase phaseOf(const StepRecord& step) {
  return step.num_prefill_tokens > 0 ? Phase::kPrefill : Phase::kDecode;
}

std::optional<double> Verdict::bandwidthUse() const {
  if (roof.memory_ns <= 0 || measured_ns <= 0) return std::nullopt;
  return roof.memory_ns / static_cast<double>(measured_ns);
}

std::optional<double> Verdict::computeUse() const {
  if (roof.compute_ns <= 0 || measured_ns <= 0) return std::nullopt;
  return roof.compute_ns / static_cast<double>(measured_ns);
}

std::optional<double> Verdict::gpuBusy() const {
  if (gpu_known_ns <= 0) return std::nullopt;
  return gpu_busy_ns / static_cast<double>(gpu_known_ns);
}

std::optional<Verdict> judge(std::span<const std::shared_ptr<const StepRecord>> steps, Phase phase,
                             const MachineLimits& limits) {
  Verdict verdict;
  verdict.phase = phase;
  for (const auto& step : steps) {
    if (phaseOf(*step) == phase) add(verdict, *step, limits);
  }
  if (verdict.num_steps == 0 || verdict.measured_ns <= 0) return std::nullopt;
  verdict.bound = boundOf(verdict, limits);
  return verdict;
}

std::string headline(const Verdict& verdict, const MachineLimits& limits) {
  const char* phase = verdict.phase == Phase::kPrefill ? "PREFILL" : "DECODE";
  const std::string gpu = verdict.gpuBusy() ? fmt::format(", GPU: {:.0f}% busy by NVML", 100 * *verdict.gpuBusy()) : "";
  const std::string busy = fmt::format("process: {:.0f}% busy{}", 100 * verdict.processBusy(), gpu);
  if (!limits.measured()) {
    return fmt::format("{}: {:.1f} GB/s, {:.0f} GFLOP/s ({})", phase, verdict.bytesPerSecond() * 1e-9,
                       verdict.flopPerSecond() * 1e-9, busy);
  }
  return fmt::format("{}: {}, {:.0f}% of {:.1f} GB/s, {:.0f}% of {} ({})", phase, boundName(verdict.bound),
                     100 * verdict.bandwidthUse().value_or(0), limits.read_bytes_per_s * 1e-9,
                     100 * verdict.computeUse().value_or(0), computeCeiling(verdict, limits), busy);
}

}  // namespace inferoscope::core
