// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/verdict.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace inferoscope::gui {

// The recent steps of one phase: enough of them to average over, no older ones.
class RecentSteps {
 public:
  explicit RecentSteps(core::Phase phase) : m_phase(phase) {}
  void add(const std::shared_ptr<const core::StepRecord>& step);
  void clear();
  bool empty() const { return m_steps.empty(); }
  std::vector<std::shared_ptr<const core::StepRecord>> steps() const { return {m_steps.begin(), m_steps.end()}; }
  std::optional<core::Verdict> verdict(const core::MachineLimits& limits) const;
  std::int64_t measuredNs() const { return m_measured_ns; }
  std::int64_t latestNs() const { return m_latest_ns; }  // when the latest began, on the lane's clock; -1: none

 private:
  core::Phase m_phase;
  std::deque<std::shared_ptr<const core::StepRecord>> m_steps;
  std::int64_t m_measured_ns = 0;
  std::int64_t m_latest_ns = -1;
};

}  // namespace inferoscope::gui
