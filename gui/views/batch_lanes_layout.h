// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/session/frame.h"
#include "gui/views/lane_time.h"

#include <QRect>
#include <QSize>

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace inferoscope::gui {

enum class LaneKind : std::uint8_t {
  kIdle,  // nobody there
  kPrefill,
  kDecode,
  kHeld,       // somebody there, but not computed in this step
  kPreempted,  // thrown out in this step
  kWaiting,    // in the queue, new
  kSetBack,    // in the queue, after a preemption
};

// What one place showed in one step.
struct LaneCell {
  core::SeqId seq;
  LaneKind kind = LaneKind::kIdle;
  std::int32_t num_tokens = 0;
  core::WaitReason reason = core::WaitReason::kNone;
  bool finished = false;  // with this step
};

struct LaneColumn {
  std::int64_t step_index = 0;
  std::int64_t start_ns = 0;  // on the lane's clock
  std::int64_t duration_ns = 0;
  std::int64_t num_missed = 0;  // records lost before this one
  int num_prefill_tokens = 0;
  int num_decode_tokens = 0;
  int num_ran = 0;
  int num_places = 0;  // most sequences in a batch
  int num_waiting = 0;
  std::vector<LaneCell> batch;  // by place
  std::vector<LaneCell> queue;  // in queue order; a long queue's rest is only counted
};

// Gives each request a place in the batch while it runs: the lowest free one, kept until it leaves. The engine has no
// such places; they are how a person can follow a request through the steps. Those that wait stand in queue order.
class LaneHistory {
 public:
  explicit LaneHistory(std::size_t max_columns = 2048);

  void clear();
  void add(const LaneFrame& frame);

  const std::deque<LaneColumn>& columns() const { return m_columns; }

 private:
  void addStep(const core::StepRecord& step, int max_sequences);
  std::vector<LaneCell> batchCells(const core::StepRecord& step);
  std::vector<LaneCell> queueCells(const core::StepRecord& step);
  void leaveEnded(const core::Snapshot& snapshot);

  std::size_t m_max_columns;
  std::deque<LaneColumn> m_columns;
  std::vector<core::SeqId> m_batch;     // who is in which place
  std::vector<core::SeqId> m_set_back;  // preempted and not admitted again yet
};

// Place-steps of some columns: how many ran, of how many there were.
struct LaneUse {
  std::int64_t ran = 0;
  std::int64_t places = 0;
};
LaneUse laneUse(const std::deque<LaneColumn>& columns, std::size_t first, std::size_t end);

// Which steps are in sight: the latest ones, or those up to a step that somebody went back to.
class LaneWindow {
 public:
  bool live() const { return !m_last_step; }
  void goLive() { m_last_step.reset(); }
  // By so many columns; forward past the latest one: live again.
  void goBack(const std::deque<LaneColumn>& columns, int num_columns, int num_seen);
  // How many columns are right of the window. A step that is forgotten meanwhile gives way to the oldest known ones.
  std::size_t numAfter(const std::deque<LaneColumn>& columns, int num_seen) const;

 private:
  std::optional<std::int64_t> m_last_step;  // at the right edge; none: the latest
};

// The lanes of one engine. By steps, columns are equally wide and right-aligned: the last step in sight is at the right
// edge. By time, for two engines above each other, each column is where its step was on the lane's clock.
struct LanesLayout {
  struct Column {
    int left = 0;
    int width = 0;  // at least 1
    int end() const { return left + width; }
  };

  QRect summary;
  QRect live;          // the button that returns to the latest step; only in the past
  QRect ran;           // strip: who ran of how many, a bar per step
  QRect waiting;       // strip: length of the queue
  QRect batch;         // lanes
  QRect queue;         // lanes
  QRect axis;          // step numbers; by time there is one for both engines, not here
  QRect legend;        // the same
  int gutter = 0;      // left of the lanes: names
  int batch_lane = 0;  // height of a lane
  int queue_lane = 0;
  int batch_lanes = 0;
  int queue_lanes = 0;
  int column_width = 0;          // by steps
  std::size_t first_column = 0;  // first one that is seen
  std::size_t num_columns = 0;   // up to the last one that is seen
  std::vector<Column> columns;   // those that are seen

  const Column& column(std::size_t index) const { return columns[index - first_column]; }
  int columnX(std::size_t index) const { return column(index).left; }
  int numSeen() const { return column_width > 0 ? batch.width() / column_width : 0; }
  QRect batchLane(int lane) const;
  QRect queueLane(int lane) const;
};

// live_width: of the button that returns to the latest step.
LanesLayout layoutLanes(const QSize& size, int line_height, const std::deque<LaneColumn>& columns, int column_width,
                        const LaneWindow& window = {}, int live_width = 0);

// Both engines of a comparison above one axis of lane time.
struct TwoLanesLayout {
  std::array<LanesLayout, 2> lanes;  // by lane of the comparison
  QRect axis;
  QRect legend;
  QRect live;  // the button that shows all of the time again; only where a part is seen
  TimeSpan all;
  TimeSpan seen;
};
TwoLanesLayout layoutTwoLanes(const QSize& size, int line_height, const std::deque<LaneColumn>& a,
                              const std::deque<LaneColumn>& b, const TimeWindow& window = {}, int live_width = 0);

// What is under the mouse.
struct LaneHit {
  std::size_t column = 0;
  const LaneCell* cell = nullptr;  // null: in a column, on no lane
};
std::optional<LaneHit> hitLane(const LanesLayout& layout, const std::deque<LaneColumn>& columns, const QPoint& point);

}  // namespace inferoscope::gui
