// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <stop_token>
#include <thread>

namespace inferoscope::cli {

// Turns Ctrl-C and SIGTERM into a request to stop, so that a command ends within an op of its step, its memory and
// output in order. A second one ends the program at once. Make it before any other thread.
class StopOnSignal {
 public:
  StopOnSignal();
  std::stop_token token() const { return m_stop.get_token(); }

 private:
  std::stop_source m_stop;
  std::jthread m_waiter;  // the only thread that sees the signals
};

}  // namespace inferoscope::cli
