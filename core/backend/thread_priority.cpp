// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/thread_priority.h"

#include <sys/resource.h>

namespace inferoscope::core {

void lowerThreadPriority() {
  constexpr int kNiceness = 5;                    // enough for a window to stay smooth beside threads on all cores
  (void)setpriority(PRIO_PROCESS, 0, kNiceness);  // Linux: of this thread
}

}  // namespace inferoscope::core
