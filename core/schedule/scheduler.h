// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/cache/block_pool.h"
#include "core/options.h"
#include "core/schedule/batch.h"
#include "core/schedule/sequence.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace inferoscope::core {

// The part of the options that steers scheduling, with what the model and the budget say.
struct SchedulerConfig {
  Batching batching = Batching::kContinuous;
  Policy policy = Policy::kFcfs;
  int max_sequences = 16;
  int step_tokens = 512;
  int prefill_chunk = 256;    // 0: whole prompts
  int block_size = 16;        // contiguous layout: max_len
  int num_blocks = 0;
  int max_len = 0;            // most tokens of a sequence: the model's context length or the budget's
  bool prefix_cache = true;
};

// What sampling made of one entry of the batch.
struct SampledToken {
  TokenId token = -1;                          // -1: the entry did not sample
  FinishReason finish = FinishReason::kNone;   // end of turn, stop string, error
  std::string error;
};

// Decides which tokens of which sequences a step computes, and where their keys and values go. Rules: facts, "One
// scheduling step": running first, chunked prefill to the token budget, preemption by recompute of the last running
// sequence, head-of-line admission of the waiting ones. One thread.
class Scheduler {
 public:
  explicit Scheduler(const SchedulerConfig& config);
  ~Scheduler();

  // Empty if the request can be served, else why it never can, with the numbers.
  std::string refusal(const Request& request) const;
  // The request must not be refused.
  SeqId submit(Request request, std::int64_t arrival_ns);

  // The next step's batch; empty if there is nothing to do. Must be followed by commit() or abandon().
  Batch schedule(std::int64_t now_ns);
  // The batch was computed: counts and block keys advance, tokens are appended, what is finished is freed.
  // sampled: one an entry. Returns the ids of the sequences that finished.
  std::vector<SeqId> commit(const Batch& batch, std::span<const SampledToken> sampled, std::int64_t now_ns);
  // The batch was not computed (stopped): blocks stay taken, nothing counts as computed.
  void abandon(const Batch& batch);

  // Ends a sequence now and frees its blocks. Unknown and finished ids are ignored.
  void finish(SeqId seq, FinishReason reason, std::string error = {});
  void finishAll(FinishReason reason, const std::string& error = {});

  // Takes over a new configuration between steps. A change of block_size or num_blocks (or reset_cache) preempts all
  // running sequences and starts an empty pool. Empty if done; else why not, with the numbers, and nothing changed.
  std::string reconfigure(const SchedulerConfig& config, bool reset_cache);

  bool idle() const;  // nothing waiting or running
  const SchedulerConfig& config() const;
  const BlockPool& pool() const;
  const Sequence* find(SeqId seq) const;  // nullptr: unknown, or forgotten
  std::vector<const Sequence*> running() const;
  std::vector<const Sequence*> waiting() const;
  std::vector<const Sequence*> finished() const;  // the latest ones, newest first; older ones are forgotten

  std::vector<BlockInfo> blocks() const;  // by block id
  std::int64_t prefixTokensAsked() const;
  std::int64_t prefixTokensHit() const;
  std::string check() const;  // empty if every invariant holds, else the first one broken

 private:
  struct Impl;
  std::unique_ptr<Impl> m_impl;
};

}  // namespace inferoscope::core
