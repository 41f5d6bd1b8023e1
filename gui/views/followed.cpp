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

// Of all lanes if there is another one.
core::SeqId newestThatRuns(const core::Snapshot& snapshot, const core::Snapshot* beside) {
  core::SeqId newest;
  for (const core::RequestInfo& request : snapshot.requests) {
    const bool here = request.state == core::SeqState::kRunning;
    if (here && (beside == nullptr || runs(*beside, request.seq))) newest = std::max(newest, request.seq);
  }
  return newest;
}

}  // namespace

core::SeqId followed(const core::Snapshot& snapshot, core::SeqId chosen, core::SeqId before,
                     const core::Snapshot* beside) {
  if (chosen.valid()) return chosen;
  if (beside != nullptr) {
    if (runs(snapshot, before) && runs(*beside, before)) return before;
    if (const core::SeqId of_both = newestThatRuns(snapshot, beside); of_both.valid()) return of_both;
  }
  const core::RequestInfo* current = findRequest(&snapshot, before);
  if (current != nullptr && current->state != core::SeqState::kFinished) return before;
  const core::SeqId newest = newestThatRuns(snapshot, nullptr);
  return newest.valid() ? newest : before;
}

}  // namespace inferoscope::gui
