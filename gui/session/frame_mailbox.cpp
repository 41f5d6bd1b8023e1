// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/session/frame_mailbox.h"

#include <iterator>
#include <utility>

namespace inferoscope::gui {

FrameMailbox::FrameMailbox(std::size_t max_steps) : m_max_steps(max_steps) {}

void FrameMailbox::putStep(std::shared_ptr<const core::StepRecord> step) {
  const std::lock_guard lock(m_mutex);
  if (m_steps.size() >= m_max_steps) {
    m_steps.pop_front();
    ++m_dropped_steps;
  }
  m_steps.push_back(std::move(step));
}

void FrameMailbox::putText(std::vector<core::TextDelta> texts) {
  if (texts.empty()) return;
  const std::lock_guard lock(m_mutex);
  m_texts.insert(m_texts.end(), std::make_move_iterator(texts.begin()), std::make_move_iterator(texts.end()));
}

void FrameMailbox::putSnapshot(std::shared_ptr<const core::Snapshot> snapshot) {
  const std::lock_guard lock(m_mutex);
  m_snapshot = std::move(snapshot);
  m_fresh_snapshot = true;
}

bool FrameMailbox::wantsSnapshot() const {
  const std::lock_guard lock(m_mutex);
  return !m_fresh_snapshot;
}

std::optional<Frame> FrameMailbox::take() {
  const std::lock_guard lock(m_mutex);
  const bool anything_new = m_fresh_snapshot || !m_steps.empty() || !m_texts.empty();
  if (!m_snapshot || !anything_new) return std::nullopt;
  m_fresh_snapshot = false;
  Frame frame;
  frame.snapshot = m_snapshot;
  frame.steps.assign(std::make_move_iterator(m_steps.begin()), std::make_move_iterator(m_steps.end()));
  frame.texts = std::exchange(m_texts, {});
  frame.dropped_steps = m_dropped_steps;
  m_steps.clear();
  return frame;
}

}  // namespace inferoscope::gui
