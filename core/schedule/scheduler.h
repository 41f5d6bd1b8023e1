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
  int prefill_chunk = 256;  // 0: whole prompts
  int block_size = 16;      // contiguous layout: max_len
  int num_blocks = 0;
  int max_len = 0;  // most tokens of a sequence: the model's context length or the budget's
  bool prefix_cache = true;
};

// What sampling made of one entry of the batch.
struct SampledToken {
  TokenId token = -1;                         // -1: the entry did not sample
  FinishReason finish = FinishReason::kNone;  // end of turn, stop string, error
  std::string error;
};

// Decides which tokens of which sequences a step computes, and where their keys and values go. One thread.
//
// Policy fcfs: the running sequences first, in order, then the head of the waiting line, while the step's budget lasts.
// A sequence takes as many of its tokens as chunk and budget allow; a whole prompt larger than the budget runs in a
// step of its own. Blocks are taken as tokens need them. Where none is left, the last of the running sequences is
// preempted: it gives all its blocks back, keeps its tokens, waits at the front of the line and is computed again.
// Policy prefill-first: a step computes prompts alone as long as there are any to compute; only then tokens follow.
// Batching static: as many as fit are admitted when none is running, and nobody joins them until all have ended.
class Scheduler {
 public:
  explicit Scheduler(const SchedulerConfig& config);

  // Empty if the request can be served, else why it never can, with the numbers.
  std::string refusal(const Request& request) const;
  // The request must not be refused.
  SeqId submit(Request request, std::int64_t arrival_ns);

  // The next step's batch; empty if there is nothing to do. Must be followed by commit() or abandon().
  Batch schedule(std::int64_t now_ns);
  // The batch was computed: counts and block keys advance, tokens are appended, what is finished is freed.
  // sampled: one an entry. Returns the ids of the sequences that finished.
  std::vector<SeqId> commit(const Batch& batch, std::span<const SampledToken> sampled, std::int64_t now_ns);
  // The batch was not computed (stopped): nothing of it counts, and the blocks it was given go back.
  void abandon(const Batch& batch);

  // Ends a sequence now and frees its blocks. Unknown and finished ids are ignored.
  void finish(SeqId seq, FinishReason reason, std::string error = {});
  void finishAll(FinishReason reason, const std::string& error = {});

  // Takes over a new configuration between steps. A change of block_size or num_blocks (or reset_cache) preempts all
  // running sequences and starts with an empty prefix cache; fewer max_sequences preempt those in excess. Empty if
  // done; else why not, with the numbers, and nothing changed.
  std::string reconfigure(const SchedulerConfig& config, bool reset_cache);

  bool idle() const { return m_running.empty() && m_waiting.empty(); }
  const SchedulerConfig& config() const { return m_config; }
  const BlockPool& pool() const { return m_pool; }
  const Sequence* find(SeqId seq) const;  // nullptr: unknown, or forgotten
  std::vector<const Sequence*> running() const;
  std::vector<const Sequence*> waiting() const;
  std::vector<const Sequence*> finished() const;  // the latest 256, newest first; older ones are forgotten

  std::vector<BlockInfo> blocks() const;  // by block id
  // Of the first admission of each request; what preempted ones hit when they come back does not count.
  std::int64_t prefixTokensAsked() const { return m_prefix_tokens_asked; }
  std::int64_t prefixTokensHit() const { return m_prefix_tokens_hit; }
  // Between steps: empty if every invariant holds, else the first one broken.
  std::string check() const;

 private:
  struct Wait;
  struct Step;    // what is decided so far of the step being made
  struct Prefix;  // what the prefix cache holds of a sequence

  // The passes of a step.
  void takeRunning(Step& step, bool prefill_only);
  void admitWaiting(Step& step);
  Wait admit(Sequence& seq, Step& step);
  void startFrom(Sequence& seq, Prefix prefix, std::int64_t now_ns);
  void recordWaiting(const Step& step, Batch& batch);
  int numTokensToTake(int num_left, const Step& step) const;

  Sequence* findRunning(SeqId seq);

  // Blocks of sequences. Who is admitted must find room beside what the running ones need for their tokens.
  int numBlocksFor(int num_tokens) const;
  int numBlocksOwed() const;
  Prefix findPrefix(const Sequence& seq) const;
  int numBlocksToAdmit(const Sequence& seq, const Prefix& prefix) const;
  bool grow(Sequence& seq, int num_tokens);
  bool growOrPreempt(Sequence& seq, int num_tokens, Step& step);
  void shrink(Sequence& seq);
  void publishKeys(Sequence& seq);
  void releaseBlocks(Sequence& seq);
  Sequence& preemptLast();

  std::string checkLines() const;
  std::string checkHolders() const;
  std::string checkTable(const Sequence& seq) const;

  SchedulerConfig m_config;
  BlockPool m_pool;
  std::unordered_map<SeqId, std::unique_ptr<Sequence>> m_sequences;
  std::vector<Sequence*> m_running;  // in order of admission
  std::deque<Sequence*> m_waiting;   // in order of arrival, preempted ones in front
  std::deque<Sequence*> m_finished;  // newest first
  SeqId m_next_id{0};
  std::int64_t m_prefix_tokens_asked = 0;
  std::int64_t m_prefix_tokens_hit = 0;
};

}  // namespace inferoscope::core
