// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/op_work.h"

namespace inferoscope::core {
namespace {

std::optional<double> ratio(double amount, double by) {
  if (by <= 0) return std::nullopt;
  return amount / by;
}

}  // namespace

std::optional<double> OpWork::bytesPerSecond() const {
  return ratio(static_cast<double>(cost.bytes()) * 1e9, static_cast<double>(measured_ns));
}

std::optional<double> OpWork::flopPerSecond() const {
  return ratio(static_cast<double>(cost.flops) * 1e9, static_cast<double>(measured_ns));
}

std::optional<double> OpWork::intensity() const {
  return ratio(static_cast<double>(cost.flops), static_cast<double>(cost.bytes()));
}

std::optional<double> OpWork::shareOfRoof() const {
  if (floor_ns <= 0) return std::nullopt;
  return ratio(floor_ns, static_cast<double>(measured_ns));
}

OpWork& OpWork::operator+=(const OpWork& other) {
  num_ops += other.num_ops;
  measured_ns += other.measured_ns;
  cost += other.cost;
  roof += other.roof;
  floor_ns += other.floor_ns;
  return *this;
}

OpWork workOf(const OpRecord& op, const MachineLimits& limits) {
  const Roof roof = roofOf(op.cost, limits);
  return {.num_ops = 1, .measured_ns = op.duration_ns, .cost = op.cost, .roof = roof, .floor_ns = roof.floorNs()};
}

bool staysInCache(std::uint64_t weight_and_key_bytes, const MachineLimits& limits) {
  return weight_and_key_bytes <= static_cast<std::uint64_t>(limits.cache_reach_bytes);
}

// A stream that stays in the cache has a lower floor than memory gives it. So what is above twice the floor, or has
// more to compute than to read, is so all the more; only "bandwidth-bound" would be wrong of it.
Bound boundOf(const OpWork& work, bool step_stays_in_cache, const MachineLimits& limits) {
  if (!limits.measured() || work.measured_ns <= 0) return Bound::kUnknown;
  const auto measured_ns = static_cast<double>(work.measured_ns);
  if (work.floor_ns < 0.5 * measured_ns) return Bound::kOverhead;
  if (work.roof.compute_ns > work.roof.memory_ns) return Bound::kCompute;
  return step_stays_in_cache || measured_ns < work.roof.memory_ns ? Bound::kCache : Bound::kBandwidth;
}

}  // namespace inferoscope::core
