// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cli/stop_on_signal.h"

#include <unistd.h>

#include <csignal>
#include <ctime>

namespace inferoscope::cli {
namespace {

constexpr int kExitInterrupted = 130;
constexpr timespec kPatience = {.tv_sec = 0, .tv_nsec = 50'000'000};  // how long the program's end may be held up

void wait(const std::stop_token& end, std::stop_source& stop, const sigset_t& signals) {
  while (!end.stop_requested()) {
    if (sigtimedwait(&signals, nullptr, &kPatience) < 0) continue;
    if (stop.stop_requested()) _exit(kExitInterrupted);
    stop.request_stop();
  }
}

}  // namespace

StopOnSignal::StopOnSignal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // threads made from here on inherit it
  m_waiter = std::jthread([this, signals](const std::stop_token& end) { wait(end, m_stop, signals); });
}

}  // namespace inferoscope::cli
