// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/session/frame_mailbox.h"

#include <iterator>
#include <utility>

namespace inferoscope::gui {

FrameMailbox::FrameMailbox(std::size_t max_steps) : m_max_steps(max_steps) {}

void FrameMailbox::putStep(std::shared_ptr<const core::StepRecord> step, core::LaneId lane) {
  const std::lock_guard lock(m_mutex);
  Box& to = box(lane);
  if (to.steps.size() >= m_max_steps) {
    to.steps.pop_front();
    ++to.dropped_steps;
  }
  to.steps.push_back(std::move(step));
}

void FrameMailbox::putText(std::vector<core::TextDelta> texts, core::LaneId lane) {
  if (texts.empty()) return;
  const std::lock_guard lock(m_mutex);
  std::vector<core::TextDelta>& to = box(lane).texts;
  to.insert(to.end(), std::make_move_iterator(texts.begin()), std::make_move_iterator(texts.end()));
}

void FrameMailbox::putSnapshot(std::shared_ptr<const core::Snapshot> snapshot, core::LaneId lane) {
  const std::lock_guard lock(m_mutex);
  box(lane).snapshot = std::move(snapshot);
  box(lane).fresh_snapshot = true;
}

bool FrameMailbox::wantsSnapshot(core::LaneId lane) const {
  const std::lock_guard lock(m_mutex);
  return !m_boxes[static_cast<std::size_t>(lane)].fresh_snapshot;
}

LaneFrame FrameMailbox::Box::take() {
  LaneFrame frame;
  frame.snapshot = snapshot;
  frame.steps.assign(std::make_move_iterator(steps.begin()), std::make_move_iterator(steps.end()));
  frame.texts = std::exchange(texts, {});
  frame.dropped_steps = dropped_steps;
  steps.clear();
  fresh_snapshot = false;
  return frame;
}

std::optional<Frame> FrameMailbox::take() {
  const std::lock_guard lock(m_mutex);
  Box& a = box(core::LaneId::kA);
  Box& b = box(core::LaneId::kB);
  if (!a.snapshot || !(a.anyNew() || b.anyNew())) return std::nullopt;
  Frame frame{a.take(), std::nullopt};
  if (b.snapshot) frame.b = b.take();
  return frame;
}

}  // namespace inferoscope::gui
