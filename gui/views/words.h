// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/snapshot.h"

#include <QString>

namespace inferoscope::gui {

// The engine's states in the user's language.
QString blockStateWord(core::BlockState state);
QString seqStateWord(core::SeqState state);
QString waitReasonWords(core::WaitReason reason);                      // empty for none
QString finishWords(core::FinishReason reason);                        // empty for none
QString requestName(const core::Snapshot* snapshot, core::SeqId seq);  // its label, "request 7" if it is gone

// A null pointer if the snapshot doesn't list it (any more).
const core::RequestInfo* findRequest(const core::Snapshot* snapshot, core::SeqId seq);

// For empty views.
QString noModelWords();
QString firstStepWords();

}  // namespace inferoscope::gui
