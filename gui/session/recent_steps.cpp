// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/session/recent_steps.h"

namespace inferoscope::gui {
namespace {

constexpr std::int64_t kWindowNs = 1'000'000'000;
constexpr std::size_t kMaxSteps = 1000;  // a tiny model makes more in a second than are worth keeping

}  // namespace

void RecentSteps::add(const std::shared_ptr<const core::StepRecord>& step) {
  if (core::phaseOf(*step) != m_phase) return;
  m_steps.push_back(step);
  m_measured_ns += step->duration_ns;
  m_latest_ns = step->start_ns;
  const auto tooMany = [this] {
    return m_steps.size() > kMaxSteps || m_measured_ns - m_steps.front()->duration_ns > kWindowNs;
  };
  while (m_steps.size() > 1 && tooMany()) {
    m_measured_ns -= m_steps.front()->duration_ns;
    m_steps.pop_front();
  }
}

void RecentSteps::clear() {
  m_steps.clear();
  m_measured_ns = 0;
  m_latest_ns = -1;
}

std::optional<core::Verdict> RecentSteps::verdict(const core::MachineLimits& limits) const {
  return core::judge(steps(), m_phase, limits);
}

}  // namespace inferoscope::gui
