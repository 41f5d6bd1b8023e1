// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/sequence.h"

namespace inferoscope::core {
namespace {

double milliseconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

}  // namespace

RequestInfo describe(const Sequence& sequence) {
  RequestInfo info;
  info.seq = sequence.id;
  info.label = sequence.request.label;
  info.state = sequence.state;
  info.finish = sequence.finish;
  info.error = sequence.error;
  info.num_prompt_tokens = sequence.num_prompt_tokens;
  info.num_computed_tokens = sequence.num_computed;
  info.num_output_tokens = sequence.numOutputTokens();
  info.max_new_tokens = sequence.request.max_new_tokens;
  info.num_hit_tokens = sequence.num_hit_tokens;
  info.num_preemptions = sequence.num_preemptions;
  info.num_blocks = static_cast<std::int32_t>(sequence.block_table.size());
  info.wait_reason = sequence.wait_reason;
  info.arrival_ns = sequence.arrival_ns;
  info.first_scheduled_ns = sequence.first_scheduled_ns;
  info.first_token_ns = sequence.first_token_ns;
  info.last_token_ns = sequence.last_token_ns;
  if (!sequence.first_token_ns) return info;
  info.ttft_ms = milliseconds(*sequence.first_token_ns - sequence.arrival_ns);
  if (const int gaps = sequence.numOutputTokens() - 1; gaps > 0) {
    info.tpot_ms = milliseconds(*sequence.last_token_ns - *sequence.first_token_ns) / gaps;
  }
  return info;
}

BlockTableInfo describeTable(const Sequence& sequence) {
  BlockTableInfo info{.seq = sequence.id, .blocks = sequence.block_table, .prefixes = {}};
  info.prefixes.reserve(sequence.block_keys.size());
  for (const BlockKey& key : sequence.block_keys) info.prefixes.push_back(key.hi);
  return info;
}

}  // namespace inferoscope::core
