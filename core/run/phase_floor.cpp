// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/phase_floor.h"

#include "core/run/dry_run.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace inferoscope::core {
namespace {

Bound boundAtFloor(const OpWork& work) {
  if (work.floor_ns <= 0) return Bound::kUnknown;
  return work.roof.compute_ns > work.roof.memory_ns ? Bound::kCompute : Bound::kBandwidth;
}

void add(PhaseFloor& floor, const std::vector<OpRecord>& pass, const MachineLimits& limits) {
  ++floor.num_passes;
  for (const OpRecord& op : pass) {
    auto place = std::ranges::find(floor.ops, op.name, &PhaseFloor::OfOp::name);
    if (place == floor.ops.end()) place = floor.ops.insert(place, {.name = op.name});
    place->work += workOf(op, limits);
    floor.work += workOf(op, limits);
  }
}

PhaseFloor finished(PhaseFloor floor, const MachineLimits& limits) {
  floor.bound = boundAtFloor(floor.work);
  for (PhaseFloor::OfOp& op : floor.ops) op.bound = boundAtFloor(op.work);
  std::ranges::stable_sort(floor.ops, std::greater{}, [](const PhaseFloor::OfOp& op) { return op.work.cost.bytes(); });
  std::ranges::stable_sort(floor.ops, std::greater{}, [](const PhaseFloor::OfOp& op) { return op.work.floor_ns; });
  const std::uint64_t bytes_per_pass =
      (floor.work.cost.weights + floor.work.cost.kv_read) / static_cast<std::uint64_t>(floor.num_passes);
  floor.stays_in_cache = staysInCache(bytes_per_pass, limits);
  return floor;
}

}  // namespace

double PhaseFloor::tokensPerSecond() const {
  return work.floor_ns > 0 ? num_tokens * 1e9 / work.floor_ns : 0.0;
}

double PhaseFloor::bytesPerToken(ByteKind kind) const {
  return static_cast<double>(bytesOf(work.cost, kind)) / num_tokens;
}

PhaseFloor decodeFloor(const Model& model, const EngineOptions& options, const MachineLimits& limits, int num_seqs,
                       int kv_len) {
  PhaseFloor floor{.phase = Phase::kDecode, .num_tokens = num_seqs};
  add(floor, dryRun(model, uniformBatch(num_seqs, 1, kv_len), options), limits);
  return finished(std::move(floor), limits);
}

PhaseFloor prefillFloor(const Model& model, const EngineOptions& options, const MachineLimits& limits, int num_tokens) {
  PhaseFloor floor{.phase = Phase::kPrefill, .num_tokens = num_tokens};
  const int whole =
      options.prefill_chunk > 0 ? std::min(options.prefill_chunk, options.step_tokens) : options.step_tokens;
  for (int done = 0; done < num_tokens; done += whole) {
    const int chunk = std::min(whole, num_tokens - done);
    const bool last = done + chunk == num_tokens;
    add(floor, dryRun(model, uniformBatch(1, chunk, done, last), options), limits);
  }
  return finished(std::move(floor), limits);
}

}  // namespace inferoscope::core
