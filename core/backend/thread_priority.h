// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace inferoscope::core {

// Lets the other threads of the machine go first: applies to the calling thread and to those it starts from then on.
// Where the system refuses, nothing changes.
void lowerThreadPriority();

}  // namespace inferoscope::core
