// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/followed.h"

#include "gui/views/words.h"

#include <algorithm>

namespace inferoscope::gui {

namespace {

bool runs(const core::Snapshot& snapshot, core::SeqId seq) {
  const core::RequestInfo* request = findRequest(&snapshot, seq);
  return request != nullptr && request->state == core::SeqState::kRunning;
}

bool began(const core::Snapshot& snapshot, core::SeqId seq) {
  const core::RequestInfo* request = findRequest(&snapshot, seq);
  return request != nullptr && request->state != core::SeqState::kWaiting;
}

bool ended(const core::Snapshot& snapshot, core::SeqId seq) {
  const core::RequestInfo* request = findRequest(&snapshot, seq);
  return request == nullptr || request->state == core::SeqState::kFinished;
}

// None of them: not valid.
template <class Holds>
core::SeqId newest(const core::Snapshot& snapshot, const Holds& holds) {
  core::SeqId found;
  for (const core::RequestInfo& request : snapshot.requests) {
    if (holds(request.seq)) found = std::max(found, request.seq);
  }
  return found;
}

core::SeqId newestThatRuns(const core::Snapshot& snapshot) {
  return newest(snapshot, [&](core::SeqId seq) { return runs(snapshot, seq); });
}

// The same from either side: whichever snapshot is `a`.
core::SeqId followedInBoth(const core::Snapshot& a, const core::Snapshot& b, core::SeqId before) {
  const auto both_began = [&](core::SeqId seq) { return began(a, seq) && began(b, seq); };
  const auto goes_on = [&](core::SeqId seq) { return both_began(seq) && !(ended(a, seq) && ended(b, seq)); };
  if (goes_on(before)) return before;
  const core::SeqId in_both = newest(a, [&](core::SeqId seq) { return runs(a, seq) && runs(b, seq); });
  if (in_both.valid()) return in_both;
  if (const core::SeqId in_one = newest(a, goes_on); in_one.valid()) return in_one;
  if (const core::SeqId done = newest(a, both_began); done.valid()) return done;
  return std::max(newestThatRuns(a), newestThatRuns(b));
}

}  // namespace

core::SeqId followed(const core::Snapshot& snapshot, core::SeqId chosen, core::SeqId before,
                     const core::Snapshot* beside) {
  if (chosen.valid()) return chosen;
  if (beside != nullptr) return followedInBoth(snapshot, *beside, before);
  const core::RequestInfo* current = findRequest(&snapshot, before);
  if (current != nullptr && current->state != core::SeqState::kFinished) return before;
  const core::SeqId running = newestThatRuns(snapshot);
  return running.valid() ? running : before;
}

}  // namespace inferoscope::gui
