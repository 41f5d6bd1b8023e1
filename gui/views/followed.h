// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/snapshot.h"

namespace inferoscope::gui {

// The request to show where one is shown at a time: the chosen one; else `before` until it has ended; then the newest
// that runs. In a comparison one that both lanes have begun, until both have ended it: both show the same.
core::SeqId followed(const core::Snapshot& snapshot, core::SeqId chosen, core::SeqId before,
                     const core::Snapshot* beside = nullptr);

}  // namespace inferoscope::gui
