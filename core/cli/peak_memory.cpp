// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cli/peak_memory.h"

#include <fstream>
#include <string>

namespace inferoscope::cli {

std::int64_t peakRssBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  }
  return 0;
}

void resetPeakRss() {
  std::ofstream("/proc/self/clear_refs") << "5";  // proc(5): resets the peak to what is resident now
}

}  // namespace inferoscope::cli
