// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <functional>

namespace inferoscope::core {

// Calls work(begin, end) for parts of 0..count on all cores, and waits for them. What work() throws ends the program:
// it must not.
void inParallel(int count, const std::function<void(int begin, int end)>& work);

}  // namespace inferoscope::core
