// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/ids.h"
#include "core/observe/kv_use.h"
#include "core/observe/snapshot.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inferoscope::core {

// How KV memory could be handed out; the ways that PagedAttention is compared with in its paper.
enum class ShadowKind : std::uint8_t {
  kContiguousMax,  // room for the longest possible text
  kPowerOfTwo,     // the prompt, and the next power of two of what will be answered
  kOracle,         // exactly what will be written, as if one knew
  kPaged,          // blocks as tokens come
};

struct ShadowPolicy {
  ShadowKind kind{};
  int block_size = 0;        // paged
  std::string name() const;  // "contiguous", "paged 16"
};
// Contiguous, power of two, oracle, paged 8 to 256.
std::vector<ShadowPolicy> shadowPolicies();

// What a sequence writes: its prompt, and all that will ever be in the cache.
struct ShadowLengths {
  int prompt = 0;
  int final = 0;
};

// The bookkeeping of one allocator, without memory: contiguous pieces are placed first fit, so that holes come about
// as they would.
class ShadowPool {
 public:
  ShadowPool(const ShadowPolicy& policy, int num_slots, int max_len);

  // Whether the whole of a sequence has room in an empty pool: what does not would be preempted for ever.
  bool canHold(const ShadowLengths& lengths) const;
  // Room for a sequence and its `written` first tokens. False, and nothing done: there is none.
  bool admit(SeqId seq, const ShadowLengths& lengths, int written);
  // It has this many tokens now. False, and nothing done: no block is left (paged alone).
  bool grow(SeqId seq, int written);
  void release(SeqId seq);

  bool holds(SeqId seq) const { return m_held.contains(seq); }
  int numHeld() const { return static_cast<int>(m_held.size()); }
  KvUse use() const;

 private:
  struct Held {
    int start = 0;  // of a contiguous piece
    int size = 0;   // slots
    int written = 0;
    int final = 0;
  };

  int sizeFor(const ShadowLengths& lengths, int written) const;
  std::optional<int> place(int size) const;  // start of the first hole that is large enough

  ShadowPolicy m_policy;
  int m_num_slots = 0;
  int m_max_len = 0;
  int m_num_used = 0;
  int m_refused_size = 0;  // what found no place since the last change; 0: nothing
  std::map<SeqId, Held> m_held;
  std::map<int, int> m_pieces;  // contiguous: start -> size
};

// All allocators beside a running engine: who would fit of those that run, and what would be wasted.
class ShadowAllocators {
 public:
  struct Point {
    std::string name;
    KvUse use;
    int num_held = 0;  // of the sequences that run in the engine
  };

  // The state after a step. A sequence's end is not known before it comes: its most new tokens stand for it.
  void add(const Snapshot& after, int max_len);
  std::vector<Point> now() const;

 private:
  std::int64_t m_slots = 0;
  std::vector<ShadowPolicy> m_policies;
  std::vector<ShadowPool> m_pools;
};

// One request of a trace, times in steps.
struct ShadowRequest {
  int arrival_step = 0;
  int prompt = 1;
  int output = 1;
};

struct ShadowRun {
  ShadowPolicy policy;
  std::vector<KvUse> curve;  // a point a step
  KvUse mean;
  int most_at_once = 0;
  double mean_at_once = 0;
  int num_preempted = 0;
  int num_refused = 0;  // larger than all the memory
};

// The trace through one allocator, no model run: first come, first served; a prompt is written in one step, then a
// token a step. Where a page is missing, the last sequence starts over later.
ShadowRun replayTrace(std::span<const ShadowRequest> trace, const ShadowPolicy& policy, int num_slots, int max_len,
                      int max_sequences);

}  // namespace inferoscope::core
