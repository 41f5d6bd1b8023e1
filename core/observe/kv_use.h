// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/snapshot.h"

#include <cstdint>
#include <map>

namespace inferoscope::core {

// Where the token slots of the KV memory are, at one moment or as a mean over time; the categories of PagedAttention.
struct KvUse {
  double written = 0;   // hold a computed token; shared ones once
  double reserved = 0;  // held by a sequence, for tokens that will come
  double internal = 0;  // held by a sequence, and never to be used
  double external = 0;  // nobody's, and of no use because of their shape
  double total = 0;     // of the whole budget

  double held() const { return written + reserved + internal; }
  // Of what sequences hold. 0 of nothing.
  double reservedShare() const { return held() > 0 ? reserved / held() : 0; }
  double internalShare() const { return held() > 0 ? internal / held() : 0; }
  // Of the budget.
  double externalShare() const { return total > 0 ? external / total : 0; }
  // Slots held and not written, of those held.
  double waste() const { return reservedShare() + internalShare(); }
};

// Now. What a sequence will still need is bounded by its prompt and its most new tokens.
KvUse kvUse(const Snapshot& snapshot);

// The mean over a run, weighted by time. How many slots were never used is known when a sequence ends.
class KvTally {
 public:
  // `duration_ns`: how long the state lasted.
  void add(const Snapshot& snapshot, std::int64_t duration_ns);
  KvUse mean() const;

 private:
  struct Open {
    std::map<int, double> time_by_slots;  // how long it held how many slots
    int final_tokens = 0;                 // that are ever written, as far as is known
  };
  static double internalTime(const Open& sequence);

  double m_time = 0;
  double m_written = 0;    // slots x time, as all below
  double m_unwritten = 0;  // held, not written at that moment
  double m_internal = 0;   // of sequences that have ended
  double m_external = 0;
  double m_total = 0;
  std::map<SeqId, Open> m_open;
};

}  // namespace inferoscope::core
