// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/ids.h"
#include "core/observe/records.h"

#include <cstdint>
#include <vector>

namespace inferoscope::core {

// One sequence's share of a step.
struct BatchEntry {
  SeqId seq;
  Phase phase{};
  int first_row = 0;  // of its tokens among the rows of the step
  int num_tokens = 0;
  int start_position = 0;  // of its first token
  int num_hit_tokens = 0;  // taken from the prefix cache in this step
  bool samples = false;    // the step reaches the end of its known tokens: it gives a new one
  int logit_row = -1;      // row of the logits if it samples
};

// All that a forward pass needs, as a value; and what the scheduler decided, as data.
struct Batch {
  std::vector<BatchEntry> entries;

  std::vector<std::int32_t> token_ids;     // [num_tokens]
  std::vector<std::int32_t> positions;     // [num_tokens]
  std::vector<std::int32_t> token_seqs;    // [num_tokens]: index into entries
  std::vector<std::int32_t> q_starts;      // [num_seqs + 1]
  std::vector<std::int32_t> kv_lens;       // [num_seqs], this step's tokens included
  std::vector<std::int32_t> block_tables;  // [num_seqs, block_table_stride], -1 beyond a table's end
  int block_table_stride = 0;
  std::vector<std::int32_t> logit_rows;  // [num_logit_rows]: rows of the step whose logits are wanted

  std::vector<SeqId> admitted;
  std::vector<SeqId> preempted;
  std::vector<WaitEntry> waiting;

  bool empty() const { return entries.empty(); }
  int numTokens() const { return static_cast<int>(token_ids.size()); }
  int numSeqs() const { return static_cast<int>(entries.size()); }
};

}  // namespace inferoscope::core
