// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace inferoscope::cli {

// The most memory that was resident at once, as the system counts it: since the program's start, or the last reset.
std::int64_t peakRssBytes();
void resetPeakRss();  // does nothing where the system does not allow it: the peak is then the program's whole

}  // namespace inferoscope::cli
