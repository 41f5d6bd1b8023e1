// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/kv_use.h"

#include <algorithm>

namespace inferoscope::core {
namespace {

double slotsOf(const Snapshot& snapshot) {
  return static_cast<double>(snapshot.blocks.size()) * snapshot.block_size;
}

// The rest of the budget that makes no whole block: little in pages, up to a whole sequence in contiguous memory.
double externalSlots(const Snapshot& snapshot) {
  return std::max(0.0, static_cast<double>(snapshot.kv_budget_slots) - slotsOf(snapshot));
}

double writtenSlots(const Snapshot& snapshot) {
  double written = 0;
  for (const BlockInfo& block : snapshot.blocks) {
    if (block.ref_count > 0) written += block.num_tokens;
  }
  return written;
}

// Tokens that ever get into the cache: the last one is answered, not read again.
int finalTokens(const RequestInfo& request) {
  const bool ended = request.state == SeqState::kFinished;
  return std::max(0, request.num_prompt_tokens + (ended ? request.num_output_tokens : request.max_new_tokens) - 1);
}

bool holdsBlocks(const RequestInfo& request) {
  return request.state == SeqState::kRunning && request.num_blocks > 0;
}

}  // namespace

KvUse kvUse(const Snapshot& snapshot) {
  KvUse use;
  use.written = writtenSlots(snapshot);
  use.external = externalSlots(snapshot);
  use.total = slotsOf(snapshot) + use.external;
  for (const RequestInfo& request : snapshot.requests) {
    if (!holdsBlocks(request)) continue;
    const int held = request.num_blocks * snapshot.block_size;
    const int never = std::max(0, held - std::max(finalTokens(request), request.num_computed_tokens));
    use.internal += never;
    use.reserved += held - request.num_computed_tokens - never;
  }
  return use;
}

void KvTally::add(const Snapshot& snapshot, std::int64_t duration_ns) {
  const auto time = static_cast<double>(duration_ns);
  m_time += time;
  m_written += time * writtenSlots(snapshot);
  m_external += time * externalSlots(snapshot);
  m_total += time * (slotsOf(snapshot) + externalSlots(snapshot));
  for (const RequestInfo& request : snapshot.requests) {
    if (holdsBlocks(request)) {
      Open& open = m_open[request.seq];
      const int held = request.num_blocks * snapshot.block_size;
      open.time_by_slots[held] += time;
      open.final_tokens = finalTokens(request);
      m_unwritten += time * (held - request.num_computed_tokens);
    } else if (const auto found = m_open.find(request.seq);
               found != m_open.end() && request.state == SeqState::kFinished) {
      found->second.final_tokens = finalTokens(request);
      m_internal += internalTime(found->second);
      m_open.erase(found);
    }
  }
}

double KvTally::internalTime(const Open& sequence) {
  double sum = 0;
  for (const auto& [num_slots, time] : sequence.time_by_slots) {
    sum += time * std::max(0, num_slots - sequence.final_tokens);
  }
  return sum;
}

KvUse KvTally::mean() const {
  if (m_time <= 0) return {};
  double internal = m_internal;
  for (const auto& [seq, open] : m_open) internal += internalTime(open);
  internal = std::min(internal, m_unwritten);
  return {.written = m_written / m_time,
          .reserved = (m_unwritten - internal) / m_time,
          .internal = internal / m_time,
          .external = m_external / m_time,
          .total = m_total / m_time};
}

}  // namespace inferoscope::core
