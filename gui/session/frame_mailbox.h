// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/experiment.h"
#include "gui/session/frame.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace inferoscope::gui {

// Frames on their way from the engine's thread to the GUI's, which polls: a fast engine can't flood a slow GUI.
// Step records go through a bounded ring and may be dropped, counted; the latest snapshot wins; text is never dropped.
// Each loaded model has a mailbox of its own, so that nothing of the old one follows the new one.
// No Qt in here, so that it can be tested under a thread sanitizer.
class FrameMailbox {
 public:
  explicit FrameMailbox(std::size_t max_steps = 4096);

  // Engine's thread.
  void putStep(std::shared_ptr<const core::StepRecord> step, core::LaneId lane = core::LaneId::kA);
  void putText(std::vector<core::TextDelta> texts, core::LaneId lane = core::LaneId::kA);
  void putSnapshot(std::shared_ptr<const core::Snapshot> snapshot, core::LaneId lane = core::LaneId::kA);
  // The last one was taken: building a new one is worth it.
  bool wantsSnapshot(core::LaneId lane = core::LaneId::kA) const;

  // GUI's thread. None: nothing new, or no snapshot of lane A yet. A snapshot may be one that an earlier frame had.
  // There is a lane B from its first snapshot on.
  std::optional<Frame> take();

 private:
  struct Box {
    bool anyNew() const { return fresh_snapshot || !steps.empty() || !texts.empty(); }
    LaneFrame take();

    std::deque<std::shared_ptr<const core::StepRecord>> steps;
    std::vector<core::TextDelta> texts;
    std::shared_ptr<const core::Snapshot> snapshot;  // the latest, kept after it was taken
    bool fresh_snapshot = false;                     // not taken yet
    std::uint64_t dropped_steps = 0;
  };
  Box& box(core::LaneId lane) { return m_boxes[static_cast<std::size_t>(lane)]; }

  mutable std::mutex m_mutex;
  std::size_t m_max_steps;
  std::array<Box, 2> m_boxes;  // by lane
};

}  // namespace inferoscope::gui
