// SPDX-License-Identifier: GPL-3.0-or-later
// Making a step: who takes part, with how many tokens, in which blocks.
#include "core/schedule/make_batch.h"
#include "core/schedule/scheduler.h"

#include <algorithm>
#include <cassert>

namespace inferoscope::core {

// Why a sequence waits, with the numbers of WaitEntry.
struct Scheduler::Wait {
  WaitReason reason = WaitReason::kNone;
  int needed = 0;
  int available = 0;
};

struct Scheduler::Step {
  std::int64_t now_ns = 0;
  int budget = 0;  // tokens left
  std::vector<Share> shares{};
  std::vector<SeqId> admitted{};
  std::vector<SeqId> preempted{};
  Wait head{};    // why the first in the line was not taken
  Wait behind{};  // why those behind it were not

  void take(const Sequence& seq, int num_tokens, int num_hit_tokens) {
    shares.push_back({&seq, num_tokens, num_hit_tokens});
    budget = std::max(0, budget - num_tokens);
  }
};

struct Scheduler::Prefix {
  std::vector<BlockId> blocks;
  std::vector<BlockKey> keys;
};

Batch Scheduler::schedule(std::int64_t now_ns) {
  Step step{.now_ns = now_ns, .budget = m_config.step_tokens};
  const bool prefill_first = m_config.policy == Policy::kPrefillFirst;
  takeRunning(step, prefill_first);
  admitWaiting(step);
  if (prefill_first && step.shares.empty()) takeRunning(step, false);

  Batch batch = makeBatch(step.shares);
  recordWaiting(step, batch);
  batch.admitted = std::move(step.admitted);
  batch.preempted = std::move(step.preempted);
  return batch;
}

// A victim is never before the sequence that needs its blocks, so it has no share of the step yet.
void Scheduler::takeRunning(Step& step, bool prefill_only) {
  for (std::size_t i = 0; i < m_running.size(); ++i) {
    Sequence& seq = *m_running[i];
    if (prefill_only && phaseOf(seq) == Phase::kDecode) continue;
    const int num_tokens = numTokensToTake(seq.numTokens() - seq.num_computed, step);
    if (num_tokens == 0) continue;
    if (!growOrPreempt(seq, seq.num_computed + num_tokens, step)) return;
    step.take(seq, num_tokens, 0);
  }
}

// Whole prompts: one larger than the budget would wait for ever, so it runs once it has a step for itself.
int Scheduler::numTokensToTake(int num_left, const Step& step) const {
  if (m_config.prefill_chunk > 0) return std::min({num_left, m_config.prefill_chunk, step.budget});
  return num_left <= step.budget || step.shares.empty() ? num_left : 0;
}

// From the head of the line until one has to wait: nobody passes another.
void Scheduler::admitWaiting(Step& step) {
  const bool is_closed = m_config.batching == Batching::kStatic && !m_running.empty();
  if (!step.preempted.empty()) {
    step.head = step.behind = {WaitReason::kAfterPreemption, static_cast<int>(step.preempted.size())};
  } else if (is_closed) {
    step.head = step.behind = {WaitReason::kStaticBatch, static_cast<int>(m_running.size())};
  }
  while (step.head.reason == WaitReason::kNone && !m_waiting.empty()) {
    step.head = admit(*m_waiting.front(), step);
    const bool for_all = step.head.reason == WaitReason::kMaxSequences ||
                         (step.head.reason == WaitReason::kStepTokens && step.budget == 0);
    step.behind = for_all ? step.head : Wait{WaitReason::kHeadOfLine};
  }
}

// kNone: it is running now. A static batch is filled at once, whatever the step's budget: those for whom no tokens are
// left start in the steps that follow.
Scheduler::Wait Scheduler::admit(Sequence& seq, Step& step) {
  const bool must_start = m_config.batching == Batching::kContinuous;
  const auto num_running = static_cast<int>(m_running.size());
  if (num_running >= m_config.max_sequences) {
    return {WaitReason::kMaxSequences, num_running + 1, m_config.max_sequences};
  }
  if (must_start && step.budget == 0) return {WaitReason::kStepTokens, 1, 0};
  Prefix prefix = findPrefix(seq);
  const int num_hit_tokens = static_cast<int>(prefix.blocks.size()) * m_config.block_size;
  const int num_left = seq.numTokens() - num_hit_tokens;
  const int num_tokens = numTokensToTake(num_left, step);
  if (must_start && num_tokens == 0) return {WaitReason::kStepTokens, num_left, step.budget};
  const int num_blocks = numBlocksToAdmit(seq, prefix);
  const int num_available = std::max(0, m_pool.numFree() - numBlocksOwed());
  if (num_blocks > num_available) return {WaitReason::kBlocks, num_blocks, num_available};

  startFrom(seq, std::move(prefix), step.now_ns);
  m_waiting.pop_front();
  m_running.push_back(&seq);
  step.admitted.push_back(seq.id);
  if (num_tokens == 0) return {};
  [[maybe_unused]] const bool has_grown = grow(seq, num_hit_tokens + num_tokens);
  assert(has_grown);
  step.take(seq, num_tokens, num_hit_tokens);
  return {};
}

// The hit blocks are its own from now on, and count as computed.
void Scheduler::startFrom(Sequence& seq, Prefix prefix, std::int64_t now_ns) {
  for (const BlockId block : prefix.blocks) m_pool.touch(block);
  seq.block_table = std::move(prefix.blocks);
  seq.block_keys = std::move(prefix.keys);
  seq.num_computed = static_cast<int>(seq.block_table.size()) * m_config.block_size;
  seq.state = SeqState::kRunning;
  seq.wait_reason = WaitReason::kNone;
  if (!seq.first_scheduled_ns) seq.first_scheduled_ns = now_ns;
  if (!m_config.prefix_cache || seq.num_preemptions > 0) return;
  seq.num_hit_tokens = seq.num_computed;
  m_prefix_tokens_asked += seq.numTokens();
  m_prefix_tokens_hit += seq.num_hit_tokens;
}

// Those preempted in this step are the first in the line.
void Scheduler::recordWaiting(const Step& step, Batch& batch) {
  const std::size_t num_preempted = step.preempted.size();
  for (std::size_t i = 0; i < m_waiting.size(); ++i) {
    Wait wait = i == num_preempted ? step.head : step.behind;
    if (i < num_preempted) wait = {WaitReason::kAfterPreemption, static_cast<int>(num_preempted)};
    if (wait.reason == WaitReason::kHeadOfLine) wait.needed = static_cast<int>(i);
    m_waiting[i]->wait_reason = wait.reason;
    batch.waiting.push_back({m_waiting[i]->id, wait.reason, wait.needed, wait.available});
  }
}

// Tokens computed in blocks of others. At least one token stays to be computed: a step without a query gives no token.
Scheduler::Prefix Scheduler::findPrefix(const Sequence& seq) const {
  Prefix prefix;
  if (!m_config.prefix_cache) return prefix;
  const auto block_size = static_cast<std::size_t>(m_config.block_size);
  const std::size_t most = (seq.tokens.size() - 1) / block_size;
  BlockKey key;
  while (prefix.blocks.size() < most) {
    key = blockKey(key, std::span(seq.tokens).subspan(prefix.blocks.size() * block_size, block_size));
    const std::optional<BlockId> block = m_pool.find(key);
    if (!block) break;
    prefix.blocks.push_back(*block);
    prefix.keys.push_back(key);
  }
  return prefix;
}

// Blocks off the free list for all known tokens, not just the first chunk. A hit block that nobody holds is one too.
int Scheduler::numBlocksToAdmit(const Sequence& seq, const Prefix& prefix) const {
  const auto is_free = [this](BlockId block) { return m_pool.refCount(block) == 0; };
  const auto num_hits = static_cast<int>(prefix.blocks.size());
  const auto num_free_hits = static_cast<int>(std::ranges::count_if(prefix.blocks, is_free));
  return numBlocksFor(seq.numTokens()) - num_hits + num_free_hits;
}

int Scheduler::numBlocksFor(int num_tokens) const {
  return (num_tokens + m_config.block_size - 1) / m_config.block_size;
}

// What running sequences lack for the tokens they have already.
int Scheduler::numBlocksOwed() const {
  int num_owed = 0;
  for (const Sequence* seq : m_running) {
    num_owed += numBlocksFor(seq->numTokens()) - static_cast<int>(seq->block_table.size());
  }
  return num_owed;
}

// Blocks for the first num_tokens tokens of the sequence. False, and nothing done, if there are not enough.
bool Scheduler::grow(Sequence& seq, int num_tokens) {
  const auto taken = m_pool.allocate(numBlocksFor(num_tokens) - static_cast<int>(seq.block_table.size()));
  if (!taken) return false;
  seq.block_table.insert(seq.block_table.end(), taken->begin(), taken->end());
  return true;
}

// False if the sequence was the last one itself.
bool Scheduler::growOrPreempt(Sequence& seq, int num_tokens, Step& step) {
  while (!grow(seq, num_tokens)) {
    const Sequence& victim = preemptLast();
    step.preempted.push_back(victim.id);
    if (&victim == &seq) return false;
  }
  return true;
}

// Back to the blocks of what is computed.
void Scheduler::shrink(Sequence& seq) {
  const auto num_kept = static_cast<std::size_t>(numBlocksFor(seq.num_computed));
  m_pool.release(std::span(seq.block_table).subspan(num_kept));
  seq.block_table.resize(num_kept);
}

Sequence& Scheduler::preemptLast() {
  Sequence& seq = *m_running.back();
  releaseBlocks(seq);
  seq.num_computed = 0;
  seq.state = SeqState::kPreempted;
  ++seq.num_preemptions;
  m_running.pop_back();
  m_waiting.push_front(&seq);
  return seq;
}

void Scheduler::releaseBlocks(Sequence& seq) {
  m_pool.release(seq.block_table);
  seq.block_table.clear();
  seq.block_keys.clear();
}

// Only what was computed can be hit.
void Scheduler::publishKeys(Sequence& seq) {
  if (!m_config.prefix_cache) return;
  const auto block_size = static_cast<std::size_t>(m_config.block_size);
  const std::size_t num_full = static_cast<std::size_t>(seq.num_computed) / block_size;
  for (std::size_t i = seq.block_keys.size(); i < num_full; ++i) {
    const BlockKey previous = i == 0 ? BlockKey{} : seq.block_keys.back();
    seq.block_keys.push_back(blockKey(previous, std::span(seq.tokens).subspan(i * block_size, block_size)));
    m_pool.setKey(seq.block_table[i], seq.block_keys.back());
  }
}

}  // namespace inferoscope::core
