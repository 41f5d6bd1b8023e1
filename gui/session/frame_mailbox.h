// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/session/frame.h"

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
  void putStep(std::shared_ptr<const core::StepRecord> step);
  void putText(std::vector<core::TextDelta> texts);
  void putSnapshot(std::shared_ptr<const core::Snapshot> snapshot);
  bool wantsSnapshot() const;  // the last one was taken: building a new one is worth it

  // GUI's thread. None: nothing new, or no snapshot yet. The snapshot may be one that an earlier frame had.
  std::optional<Frame> take();

 private:
  mutable std::mutex m_mutex;
  std::size_t m_max_steps;
  std::deque<std::shared_ptr<const core::StepRecord>> m_steps;
  std::vector<core::TextDelta> m_texts;
  std::shared_ptr<const core::Snapshot> m_snapshot;  // the latest, kept after it was taken
  bool m_fresh_snapshot = false;                     // not taken yet
  std::uint64_t m_dropped_steps = 0;
};

}  // namespace inferoscope::gui
