// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/session/frame.h"

#include <QRect>
#include <QSize>
#include <QString>

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace inferoscope::gui {

enum class Stage : std::uint8_t {
  kWaiting,  // in the line
  kPrefill,
  kDecode,
  kHeld,  // in the batch, but not computed
};

// Steps in a row in which the same happened to a request, for the same reason.
struct StageSpan {
  Stage stage{};
  core::WaitEntry wait;  // why it waited, with the numbers of the latest step
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::int64_t from_ns = 0;  // on the lane's clock
  std::int64_t to_ns = 0;
  std::int64_t busy_ns = 0;     // sum of the steps' durations
  std::int64_t num_tokens = 0;  // computed

  std::int64_t numSteps() const { return last_step - first_step + 1; }
};

// What the records of the steps say of each request that the snapshot lists.
class RequestStories {
 public:
  void clear();
  void add(const LaneFrame& frame);
  std::span<const StageSpan> of(core::SeqId request) const;  // oldest first; the latest 512

 private:
  void addStep(const core::StepRecord& step);
  void put(core::SeqId request, const core::StepRecord& step, Stage stage, const core::WaitEntry& wait, int num_tokens);

  std::unordered_map<core::SeqId, std::vector<StageSpan>> m_stories;
  std::int64_t m_last_step = -1;
};

// The request to explain where none is chosen: the head of the line, else the one to follow.
core::SeqId whoWaits(const core::Snapshot& snapshot, core::SeqId chosen, core::SeqId before);

// "too few KV blocks: it needs 14, 3 are free for it"; empty for none.
QString waitSentence(const core::WaitEntry& wait);
// The knobs that decide: "kv-budget, block-size"; empty where none does.
QString waitKnobs(core::WaitReason reason);
QString stageSentence(const StageSpan& span);
// "waited 1.2 s of 4.6 s: 0.9 s too few KV blocks, 0.3 s behind another request".
QString waitTotals(std::span<const StageSpan> story);

// The parts of the view.
struct WaitingLayout {
  QRect header;
  QRect sentence;
  QRect gauge;  // empty where the reason has no two numbers
  QRect totals;
  QRect strip;
  QRect axis;
  std::vector<QRect> spans;  // on the strip, one for each of the story
  std::vector<QRect> rows;   // one for each of the latest spans, newest first
  int num_hidden = 0;        // spans that have no row
  QRect more;                // says so
};
WaitingLayout layoutWaiting(const QSize& size, int line_height, int sentence_height, int gauge_height,
                            std::span<const StageSpan> story);

}  // namespace inferoscope::gui
