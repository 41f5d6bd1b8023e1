// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/followed.h"

#include "gui/views/words.h"

#include <algorithm>

namespace inferoscope::gui {

core::SeqId followed(const core::Snapshot& snapshot, core::SeqId chosen, core::SeqId before) {
  if (chosen.valid()) return chosen;
  const core::RequestInfo* current = findRequest(&snapshot, before);
  if (current != nullptr && current->state != core::SeqState::kFinished) return before;
  core::SeqId newest;
  for (const core::RequestInfo& request : snapshot.requests) {
    if (request.state == core::SeqState::kRunning) newest = std::max(newest, request.seq);
  }
  return newest.valid() ? newest : before;
}

}  // namespace inferoscope::gui
