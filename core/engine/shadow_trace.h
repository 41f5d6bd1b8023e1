// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/cache/shadow_pool.h"
#include "core/observe/records.h"
#include "core/observe/snapshot.h"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <span>
#include <vector>

namespace inferoscope::core {

// Which requests a run had, in steps: what the other allocators would have had to place. One call a step, in order.
class ShadowTrace {
 public:
  void add(const Snapshot& after);

  // By arrival. Those that never began are left out.
  std::vector<ShadowRequest> requests() const;

 private:
  int m_num_steps = 0;
  std::map<SeqId, ShadowRequest> m_requests;
};

// The trace through every allocator, as if each had the memory.
std::vector<ShadowRun> replayAll(std::span<const ShadowRequest> trace, int num_slots, int max_len, int max_sequences);

// [{"allocator", "waste", "reserved", "internal", "external", "max_concurrent", "mean_concurrent", "preemptions",
// "curve": [[step, written, reserved, internal, external slots], ...]}]
nlohmann::ordered_json shadowJson(std::span<const ShadowRun> runs);

}  // namespace inferoscope::core
