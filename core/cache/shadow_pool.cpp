// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cache/shadow_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace inferoscope::core {
namespace {

int roundUp(int value, int step) {
  return (value + step - 1) / step * step;
}

}  // namespace

std::string ShadowPolicy::name() const {
  switch (kind) {
    case ShadowKind::kContiguousMax:
      return "contiguous";
    case ShadowKind::kPowerOfTwo:
      return "power of two";
    case ShadowKind::kOracle:
      return "oracle";
    case ShadowKind::kPaged:
      break;
  }
  return fmt::format("paged {}", block_size);
}

std::vector<ShadowPolicy> shadowPolicies() {
  std::vector<ShadowPolicy> policies = {
      {ShadowKind::kContiguousMax, 0}, {ShadowKind::kPowerOfTwo, 0}, {ShadowKind::kOracle, 0}};
  for (int block_size = 8; block_size <= 256; block_size *= 2) policies.push_back({ShadowKind::kPaged, block_size});
  return policies;
}

ShadowPool::ShadowPool(const ShadowPolicy& policy, int num_slots, int max_len)
    : m_policy(policy), m_num_slots(num_slots), m_max_len(max_len) {}

int ShadowPool::sizeFor(const ShadowLengths& lengths, int written) const {
  switch (m_policy.kind) {
    case ShadowKind::kContiguousMax:
      return m_max_len;
    case ShadowKind::kPowerOfTwo: {
      const auto output = static_cast<unsigned>(std::max(1, lengths.final - lengths.prompt));
      return std::min(m_max_len, lengths.prompt + static_cast<int>(std::bit_ceil(output)));
    }
    case ShadowKind::kOracle:
      return lengths.final;
    case ShadowKind::kPaged:
      break;
  }
  return roundUp(written, m_policy.block_size);
}

std::optional<int> ShadowPool::place(int size) const {
  int at = 0;
  for (const auto& [start, held] : m_pieces) {
    if (start - at >= size) return at;
    at = start + held;
  }
  return m_num_slots - at >= size ? std::optional(at) : std::nullopt;
}

bool ShadowPool::canHold(const ShadowLengths& lengths) const {
  return sizeFor(lengths, lengths.final) <= m_num_slots;
}

bool ShadowPool::admit(SeqId seq, const ShadowLengths& lengths, int written) {
  Held held{.start = 0, .size = sizeFor(lengths, written), .written = written, .final = lengths.final};
  if (m_policy.kind != ShadowKind::kPaged) {
    const std::optional<int> start = place(held.size);
    m_refused_size = start ? 0 : held.size;
    if (!start) return false;
    held.start = *start;
    m_pieces[held.start] = held.size;
  } else if (m_num_used + held.size > m_num_slots) {
    return false;
  }
  m_num_used += held.size;
  m_held[seq] = held;
  return true;
}

bool ShadowPool::grow(SeqId seq, int written) {
  Held& held = m_held.at(seq);
  if (m_policy.kind == ShadowKind::kPaged) {
    const int more = roundUp(written, m_policy.block_size) - held.size;
    if (m_num_used + more > m_num_slots) return false;
    held.size += more;
    m_num_used += more;
  }
  held.written = std::min(written, held.size);
  return true;
}

void ShadowPool::release(SeqId seq) {
  const auto found = m_held.find(seq);
  if (found == m_held.end()) return;
  m_num_used -= found->second.size;
  m_pieces.erase(found->second.start);
  m_held.erase(found);
  m_refused_size = 0;
}

// Free room counts as external while somebody waits for a piece that no hole can hold.
KvUse ShadowPool::use() const {
  KvUse use;
  use.total = m_num_slots;
  for (const auto& [seq, held] : m_held) {
    const int never = std::max(0, held.size - std::max(held.final, held.written));
    use.written += held.written;
    use.internal += never;
    use.reserved += held.size - held.written - never;
  }
  if (m_refused_size > 0) use.external = m_num_slots - m_num_used;
  return use;
}

void ShadowAllocators::add(const Snapshot& after, int max_len) {
  const auto slots = static_cast<std::int64_t>(std::lround(kvUse(after).total));
  if (slots != m_slots) {
    m_slots = slots;
    m_policies = shadowPolicies();
    m_pools.clear();
    for (const ShadowPolicy& policy : m_policies) m_pools.emplace_back(policy, static_cast<int>(slots), max_len);
  }
  for (const RequestInfo& request : after.requests) {
    const ShadowLengths lengths{.prompt = request.num_prompt_tokens,
                                .final = request.num_prompt_tokens + request.max_new_tokens - 1};
    const bool runs = request.state == SeqState::kRunning && request.num_computed_tokens > 0;
    for (ShadowPool& pool : m_pools) {
      if (!runs) {
        pool.release(request.seq);
      } else if (!pool.holds(request.seq)) {
        pool.admit(request.seq, lengths, request.num_computed_tokens);
      } else if (!pool.grow(request.seq, request.num_computed_tokens)) {
        pool.release(request.seq);  // it would be preempted
      }
    }
  }
}

std::vector<ShadowAllocators::Point> ShadowAllocators::now() const {
  std::vector<Point> points;
  for (std::size_t i = 0; i < m_pools.size(); ++i) {
    points.push_back({m_policies[i].name(), m_pools[i].use(), m_pools[i].numHeld()});
  }
  return points;
}

}  // namespace inferoscope::core
