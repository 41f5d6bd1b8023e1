// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/emulation/block.h"

#include <functional>
#include <utility>
#include <vector>

namespace inferoscope::kernels::cuda::emulation {

// Work that is done in order, and only when someone waits for it: who forgets to wait sees what was there before.
class Stream {
 public:
  using Work = std::function<void(Stream&)>;

  void setSchedule(const Schedule& schedule) { m_schedule = schedule; }

  void launch(Launch launch) {
    enqueue([launch = std::move(launch)](Stream& stream) { runLaunch(launch, stream.m_schedule, stream.m_stacks); });
  }
  void enqueue(Work work) { (m_capturing ? m_captured : m_waiting).push_back(std::move(work)); }

  // Does all that waits. After a Fault the rest is dropped.
  void synchronize() {
    for (const Work& work : std::exchange(m_waiting, {})) work(*this);
  }

  bool capturing() const { return m_capturing; }
  void beginCapture() { m_capturing = true; }
  std::vector<Work> endCapture() {
    m_capturing = false;
    return std::exchange(m_captured, {});
  }

 private:
  Schedule m_schedule;
  StackPool m_stacks;
  bool m_capturing = false;
  std::vector<Work> m_waiting;
  std::vector<Work> m_captured;
};

}  // namespace inferoscope::kernels::cuda::emulation
