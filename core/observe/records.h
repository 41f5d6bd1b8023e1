// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/ids.h"
#include "kernels/op_cost.h"
#include "kernels/ops.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace inferoscope::core {

// One op of one step, as measured. Immutable once recorded.
struct OpRecord {
  kernels::OpKind kind{};
  std::int16_t layer = -1;  // -1: embedding, final norm, output
  std::string_view name;    // "attn_q", "ffn_down", "output": a literal
  std::string_view kernel;  // id of the catalog row that ran; a literal
  std::string_view format;  // of the matrix of weights that it read, a literal; empty: it read none
  std::int32_t num_tokens = 0;
  std::int64_t start_ns = 0;  // since the step began
  std::int64_t duration_ns = 0;
  std::uint64_t scratch_bytes = 0;
  kernels::OpCost cost;
};

enum class Phase : std::uint8_t { kPrefill, kDecode };

// What one sequence did in a step.
struct StepEntry {
  SeqId seq;
  Phase phase{};
  std::int32_t num_tokens = 0;      // computed this step
  std::int32_t kv_len = 0;          // tokens in its cache afterwards
  std::int32_t num_hit_tokens = 0;  // taken from the prefix cache, in the step that admitted it
  TokenId sampled = -1;             // the token it gave, -1: none yet
  bool finished = false;
};

// Why a waiting request was not taken in a step.
enum class WaitReason : std::uint8_t {
  kNone,
  kStepTokens,
  kBlocks,
  kMaxSequences,
  kHeadOfLine,
  kAfterPreemption,
  kStaticBatch
};
std::string_view waitReasonName(WaitReason reason);

struct WaitEntry {
  SeqId seq;
  WaitReason reason{};
  // The numbers behind the reason: what it would have taken, and what there was.
  //   kStepTokens       tokens, the least it could start with; left in the step's budget
  //   kBlocks           blocks for all its known tokens; free ones that no running sequence is owed
  //   kMaxSequences     places in the batch, its own included; max-sequences
  //   kHeadOfLine       requests before it in the line; 0
  //   kAfterPreemption  sequences preempted in this step; 0
  //   kStaticBatch      sequences of the batch that have not ended; 0
  std::int32_t needed = 0;
  std::int32_t available = 0;
};

// One step of an engine: what it decided, what it did, and how long each part took.
struct StepRecord {
  std::int64_t step_index = 0;
  std::int64_t start_ns = 0;       // on the lane's clock
  std::int64_t duration_ns = 0;    // schedule + forward + sample + commit
  std::int64_t kernel_ns = 0;      // sum over ops; the rest of duration_ns is software
  double process_cpu_s = 0;        // CPU time of the whole process during the step, all threads
  std::optional<double> gpu_busy;  // "utilisation" as the GPU's driver reports it, 0..1; none: it says nothing
  int num_threads = 0;
  std::int32_t num_prefill_tokens = 0;
  std::int32_t num_decode_tokens = 0;
  std::int32_t num_sampled = 0;
  kernels::OpCost cost;            // sum over ops
  std::vector<StepEntry> entries;  // in batch order
  std::vector<WaitEntry> waiting;  // in queue order
  std::vector<SeqId> admitted;
  std::vector<SeqId> preempted;
  std::vector<OpRecord> ops;  // in execution order
  std::int32_t num_blocks_used = 0;
  std::int32_t num_blocks = 0;
};

}  // namespace inferoscope::core
