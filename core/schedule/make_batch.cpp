// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/make_batch.h"

#include <algorithm>

namespace inferoscope::core {
namespace {

void addTokens(Batch& batch, const Sequence& seq, int num_tokens) {
  const auto seq_index = static_cast<std::int32_t>(batch.entries.size());
  for (int position = seq.num_computed; position < seq.num_computed + num_tokens; ++position) {
    batch.token_ids.push_back(seq.tokens[static_cast<std::size_t>(position)]);
    batch.positions.push_back(position);
    batch.token_seqs.push_back(seq_index);
  }
}

void addEntry(Batch& batch, const Share& share) {
  const Sequence& seq = *share.seq;
  BatchEntry entry{.seq = seq.id,
                   .phase = phaseOf(seq),
                   .first_row = batch.numTokens(),
                   .num_tokens = share.num_tokens,
                   .start_position = seq.num_computed,
                   .num_hit_tokens = share.num_hit_tokens};
  addTokens(batch, seq, share.num_tokens);
  batch.q_starts.push_back(batch.numTokens());
  batch.kv_lens.push_back(seq.num_computed + share.num_tokens);
  if (seq.num_computed + share.num_tokens == seq.numTokens()) {
    entry.samples = true;
    entry.logit_row = static_cast<int>(batch.logit_rows.size());
    batch.logit_rows.push_back(batch.numTokens() - 1);
  }
  batch.entries.push_back(entry);
}

void addBlockTables(Batch& batch, std::span<const Share> shares) {
  std::size_t stride = 0;
  for (const Share& share : shares) stride = std::max(stride, share.seq->block_table.size());
  batch.block_table_stride = static_cast<int>(stride);
  batch.block_tables.assign(stride * shares.size(), -1);
  auto row = batch.block_tables.begin();
  for (const Share& share : shares) {
    std::ranges::transform(share.seq->block_table, row, &BlockId::value);
    row += batch.block_table_stride;
  }
}

}  // namespace

Phase phaseOf(const Sequence& sequence) {
  const bool is_next = sequence.num_computed == sequence.numTokens() - 1;
  return is_next && sequence.num_computed >= sequence.num_prompt_tokens ? Phase::kDecode : Phase::kPrefill;
}

Batch makeBatch(std::span<const Share> shares) {
  Batch batch;
  batch.q_starts.push_back(0);
  for (const Share& share : shares) addEntry(batch, share);
  addBlockTables(batch, shares);
  return batch;
}

}  // namespace inferoscope::core
