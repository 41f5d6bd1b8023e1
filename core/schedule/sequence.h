// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/cache/block_pool.h"
#include "core/ids.h"
#include "core/observe/snapshot.h"
#include "core/schedule/request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inferoscope::core {

// A request on its way: its tokens, how far they are computed, and the blocks that hold their keys and values.
struct Sequence {
  SeqId id;
  Request request;
  std::vector<TokenId> tokens;  // prompt, then output
  int num_prompt_tokens = 0;
  int num_computed = 0;              // tokens whose keys and values are in the cache
  std::vector<BlockId> block_table;  // logical block -> physical block; grows only at its end
  std::vector<BlockKey> block_keys;  // of its full computed blocks

  SeqState state = SeqState::kWaiting;
  FinishReason finish = FinishReason::kNone;
  std::string error;
  int num_hit_tokens = 0;  // of its first admission
  int num_preemptions = 0;
  WaitReason wait_reason = WaitReason::kNone;

  std::int64_t arrival_ns = 0;  // lane clock
  std::optional<std::int64_t> first_scheduled_ns;
  std::optional<std::int64_t> first_token_ns;
  std::optional<std::int64_t> last_token_ns;

  int numTokens() const { return static_cast<int>(tokens.size()); }
  int numOutputTokens() const { return numTokens() - num_prompt_tokens; }
};

// TTFT and TPOT where they exist; all that a table of requests shows.
RequestInfo describe(const Sequence& sequence);
BlockTableInfo describeTable(const Sequence& sequence);

}  // namespace inferoscope::core
