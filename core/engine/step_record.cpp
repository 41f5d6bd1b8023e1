// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/step_record.h"

#include <algorithm>
#include <utility>

namespace inferoscope::core {

StepRecord makeStepRecord(const Batch& batch, std::span<const SampledToken> sampled, std::span<const SeqId> finished,
                          std::vector<OpRecord> ops) {
  StepRecord record;
  record.admitted = batch.admitted;
  record.preempted = batch.preempted;
  record.waiting = batch.waiting;
  record.entries.reserve(batch.entries.size());
  for (std::size_t i = 0; i < batch.entries.size(); ++i) {
    const BatchEntry& entry = batch.entries[i];
    record.entries.push_back({.seq = entry.seq,
                              .phase = entry.phase,
                              .num_tokens = entry.num_tokens,
                              .kv_len = entry.start_position + entry.num_tokens,
                              .num_hit_tokens = entry.num_hit_tokens,
                              .sampled = sampled[i].token,
                              .finished = std::ranges::find(finished, entry.seq) != finished.end()});
    (entry.phase == Phase::kPrefill ? record.num_prefill_tokens : record.num_decode_tokens) += entry.num_tokens;
    if (sampled[i].token >= 0) ++record.num_sampled;
  }
  for (const OpRecord& op : ops) {
    record.kernel_ns += op.duration_ns;
    record.cost += op.cost;
  }
  record.ops = std::move(ops);
  return record;
}

}  // namespace inferoscope::core
