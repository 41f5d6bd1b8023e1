// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/ids.h"
#include "core/observe/records.h"
#include "core/options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inferoscope::core {

enum class BlockState : std::uint8_t { kFree, kCached, kUsed, kShared };  // cached: free, but its content can be hit

// One physical KV block. 12 bytes: there may be a million.
struct BlockInfo {
  SeqId owner;                  // the first holder; none if free or cached
  std::int32_t num_tokens = 0;  // slots that hold a computed token; a contiguous block holds a whole context
  std::int16_t ref_count = 0;   // at most max-sequences
  BlockState state = BlockState::kFree;
};

enum class SeqState : std::uint8_t { kWaiting, kRunning, kPreempted, kFinished };
enum class FinishReason : std::uint8_t { kNone, kEndOfTurn, kLength, kStopString, kContextFull, kCancelled, kError };
std::string_view seqStateName(SeqState state);
std::string_view finishReasonName(FinishReason reason);

// One request as people follow it. Times on the lane's clock; empty: not reached yet.
struct RequestInfo {
  SeqId seq;
  std::string label;  // "chat 3", "you"
  SeqState state = SeqState::kWaiting;
  FinishReason finish = FinishReason::kNone;
  std::string error;  // for people, if finish is kError
  std::int32_t num_prompt_tokens = 0;
  std::int32_t num_computed_tokens = 0;
  std::int32_t num_output_tokens = 0;
  std::int32_t max_new_tokens = 0;
  std::int32_t num_hit_tokens = 0;
  std::int32_t num_preemptions = 0;
  std::int32_t num_blocks = 0;
  WaitReason wait_reason = WaitReason::kNone;
  std::int64_t arrival_ns = 0;
  std::optional<std::int64_t> first_scheduled_ns;
  std::optional<std::int64_t> first_token_ns;
  std::optional<std::int64_t> last_token_ns;
  std::optional<double> ttft_ms;  // first token - arrival
  std::optional<double> tpot_ms;  // (last - first token) / (output tokens - 1); none for a single token
};

// Where a running request's keys and values are: its block table.
struct BlockTableInfo {
  SeqId seq;
  std::vector<BlockId> blocks;          // by logical block
  std::vector<std::uint64_t> prefixes;  // of the first, full and computed blocks: 64 of the 128 bits of their key
};

// Sums since the engine was made or reset. They live here so that a lost record never loses a sum.
struct Totals {
  std::int64_t num_steps = 0;
  std::int64_t busy_ns = 0;  // sum of step durations
  std::int64_t kernel_ns = 0;
  std::int64_t num_prefill_tokens = 0;
  std::int64_t num_output_tokens = 0;
  std::int64_t num_requests = 0;
  std::int64_t num_finished = 0;
  std::int64_t num_preemptions = 0;
  std::int64_t prefix_tokens_asked = 0;
  std::int64_t prefix_tokens_hit = 0;
  kernels::OpCost cost;
};

// The state of one lane between two steps: a value, immutable once shared.
struct Snapshot {
  std::int64_t step_index = 0;    // steps done
  std::int64_t lane_ns = 0;       // the lane's clock
  EngineOptions options;          // in force
  std::vector<BlockInfo> blocks;  // by block id
  int block_size = 0;
  std::int64_t kv_block_bytes = 0;     // bytes of one block over all layers
  std::int64_t kv_budget_slots = 0;    // tokens that the budget holds, whole blocks or not
  std::vector<BlockTableInfo> tables;  // of the running requests, in the order of `requests`
  std::vector<RequestInfo> requests;   // running first, then waiting, then the latest finished, newest first
  Totals totals;

  int numUsedBlocks() const;  // held by a sequence; shared blocks once
  double blockUse() const;    // used blocks / all blocks; 0 of none
  double slotUse() const;     // slots that hold data / all slots; shared blocks once
};

}  // namespace inferoscope::core
