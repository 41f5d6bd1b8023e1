// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/batch_lanes_layout.h"

#include "gui/paint/marks.h"

#include <algorithm>
#include <functional>

namespace inferoscope::gui {

namespace {

constexpr int kMaxQueueLanes = 32;
constexpr int kBatchLane = 20;  // where there is room
constexpr int kQueueLane = 10;
constexpr int kLeastLane = 2;
constexpr int kGutter = 76;
constexpr int kNarrow = 360;  // under this width no gutter
constexpr int kRanHeight = 18;
constexpr int kLowLines = 9;  // under this height, in lines, the strips give their room to the lanes
constexpr int kWaitingHeight = 12;

bool contains(const std::vector<core::SeqId>& ids, core::SeqId id) {
  return std::ranges::find(ids, id) != ids.end();
}

void remove(std::vector<core::SeqId>& ids, core::SeqId id) {
  std::erase(ids, id);
}

void leave(std::vector<core::SeqId>& places, core::SeqId id) {
  std::ranges::replace(places, id, core::SeqId{});
}

// The place of `id`, taking the lowest free one if it has none yet.
std::size_t placeOf(std::vector<core::SeqId>& places, core::SeqId id) {
  auto place = std::ranges::find(places, id);
  if (place == places.end()) place = std::ranges::find(places, core::SeqId{});
  if (place == places.end()) place = places.insert(places.end(), id);
  *place = id;
  return static_cast<std::size_t>(place - places.begin());
}

// Lanes for `room` pixels of height. The batch comes first but leaves the queue a quarter, if it needs as much; what
// doesn't fit even at the least height is cut off.
void shareRoom(LanesLayout& layout, int room) {
  const int batch_room = room - std::min(room / 4, layout.queue_lanes * kQueueLane);
  if (layout.batch_lanes > 0) {
    layout.batch_lane = std::clamp(batch_room / layout.batch_lanes, kLeastLane, kBatchLane);
    layout.batch_lanes = std::min(layout.batch_lanes, batch_room / layout.batch_lane);
  }
  const int rest = room - layout.batch_lanes * layout.batch_lane;
  layout.queue_lane = std::min(kQueueLane, std::max(kLeastLane, layout.batch_lane));
  layout.queue_lanes = std::min(layout.queue_lanes, rest / layout.queue_lane);
}

QRect takeRow(int& top, const QRect& beside, int height, int space) {
  const QRect row(beside.left(), top, beside.width(), height);
  top += height + space;
  return row;
}

// The summary and the strips at the top of `inner`; where the lanes may begin.
int placeStrips(LanesLayout& layout, const QRect& inner, int line_height) {
  layout.gutter = inner.width() < kNarrow ? 0 : kGutter;
  const QRect beside(inner.left() + layout.gutter, inner.top(), std::max(0, inner.width() - layout.gutter), 0);
  int top = inner.top();
  layout.summary = takeRow(top, beside, line_height, kSpacing);
  layout.summary.setLeft(inner.left());
  layout.ran = takeRow(top, beside, kRanHeight, 2);
  layout.waiting = takeRow(top, beside, kWaitingHeight, kSpacing);
  return top;
}

// As many lanes as the columns that are seen need, each `least` of it; where they end.
template <class Least>
int placeLanes(LanesLayout& layout, const std::deque<LaneColumn>& columns, int top, int bottom, const Least& least) {
  for (std::size_t i = layout.first_column; i < layout.num_columns; ++i) {
    const LaneColumn& column = columns[i];
    layout.batch_lanes = std::max({layout.batch_lanes, least(column), static_cast<int>(column.batch.size())});
    layout.queue_lanes = std::max(layout.queue_lanes, static_cast<int>(column.queue.size()));
  }
  shareRoom(layout, std::max(0, bottom - 2 * kSpacing - top));
  layout.batch = takeRow(top, layout.ran, layout.batch_lanes * layout.batch_lane, kSpacing);
  layout.queue = takeRow(top, layout.ran, layout.queue_lanes * layout.queue_lane, kSpacing);
  return top;
}

// The strips and lanes of one of two engines in `area`.
LanesLayout layoutLanesByTime(const QRect& area, int line_height, const std::deque<LaneColumn>& columns,
                              const TimeSpan& seen) {
  LanesLayout layout;
  int top = placeStrips(layout, area, line_height);
  if (area.height() < kLowLines * line_height) {
    layout.ran.setHeight(0);
    layout.waiting = layout.ran;
    top = layout.ran.top();
  }
  const auto end_of = [](const LaneColumn& column) { return column.start_ns + column.duration_ns; };
  const auto first = std::ranges::upper_bound(columns, seen.from_ns, {}, end_of);
  const auto end = std::ranges::lower_bound(first, columns.end(), seen.to_ns, {}, &LaneColumn::start_ns);
  layout.first_column = static_cast<std::size_t>(first - columns.begin());
  layout.num_columns = static_cast<std::size_t>(end - columns.begin());
  for (auto column = first; column != end; ++column) {
    const int left = std::max(layout.ran.left(), seen.xOf(column->start_ns, layout.ran));
    const int right = std::min(layout.ran.right() + 1, seen.xOf(column->start_ns + column->duration_ns, layout.ran));
    layout.columns.push_back({left, std::max(1, right - left)});
  }
  // There is half the room: places that nobody has taken are left out.
  placeLanes(layout, columns, top, area.bottom() + 1, [](const LaneColumn&) { return 0; });
  return layout;
}

// Of both, up to a round number.
TimeSpan timeOf(const std::deque<LaneColumn>& a, const std::deque<LaneColumn>& b) {
  std::optional<TimeSpan> all;
  for (const std::deque<LaneColumn>* columns : {&a, &b}) {
    if (columns->empty()) continue;
    const std::int64_t from = columns->front().start_ns;
    const std::int64_t to = columns->back().start_ns + columns->back().duration_ns;
    all = all ? TimeSpan{std::min(all->from_ns, from), std::max(all->to_ns, to)} : TimeSpan{from, to};
  }
  return all ? roundSpan(all->from_ns, all->to_ns) : TimeSpan{};
}

}  // namespace

LaneHistory::LaneHistory(std::size_t max_columns) : m_max_columns(max_columns) {}

void LaneHistory::clear() {
  m_columns.clear();
  m_batch.clear();
  m_set_back.clear();
}

void LaneHistory::add(const LaneFrame& frame) {
  const int max_sequences = frame.snapshot ? frame.snapshot->options.max_sequences : 0;
  for (const auto& step : frame.steps) addStep(*step, max_sequences);
  if (frame.snapshot) leaveEnded(*frame.snapshot);
}

void LaneHistory::addStep(const core::StepRecord& step, int max_sequences) {
  if (!m_columns.empty() && step.step_index <= m_columns.back().step_index) clear();  // the engine was reset
  LaneColumn column;
  column.step_index = step.step_index;
  column.start_ns = step.start_ns;
  column.duration_ns = step.duration_ns;
  column.num_missed = m_columns.empty() ? 0 : step.step_index - m_columns.back().step_index - 1;
  column.num_prefill_tokens = step.num_prefill_tokens;
  column.num_decode_tokens = step.num_decode_tokens;
  column.num_ran = static_cast<int>(step.entries.size());
  column.num_places = std::max(max_sequences, column.num_ran);
  column.num_waiting = static_cast<int>(step.waiting.size());
  column.queue = queueCells(step);
  column.batch = batchCells(step);
  m_columns.push_back(std::move(column));
  if (m_columns.size() > m_max_columns) m_columns.pop_front();
}

std::vector<LaneCell> LaneHistory::batchCells(const core::StepRecord& step) {
  for (const core::WaitEntry& wait : step.waiting) {
    if (!contains(step.preempted, wait.seq)) leave(m_batch, wait.seq);
  }
  for (const core::StepEntry& entry : step.entries) placeOf(m_batch, entry.seq);
  std::vector<LaneCell> cells(m_batch.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!m_batch[i].valid()) continue;
    const bool preempted = contains(step.preempted, m_batch[i]);
    cells[i] = {.seq = m_batch[i], .kind = preempted ? LaneKind::kPreempted : LaneKind::kHeld};
  }
  for (const core::StepEntry& entry : step.entries) {
    const bool prefill = entry.phase == core::Phase::kPrefill;
    cells[placeOf(m_batch, entry.seq)] = {.seq = entry.seq,
                                          .kind = prefill ? LaneKind::kPrefill : LaneKind::kDecode,
                                          .num_tokens = entry.num_tokens,
                                          .finished = entry.finished};
    if (entry.finished) leave(m_batch, entry.seq);
  }
  for (const core::SeqId seq : step.preempted) leave(m_batch, seq);
  return cells;
}

std::vector<LaneCell> LaneHistory::queueCells(const core::StepRecord& step) {
  for (const core::StepEntry& entry : step.entries) remove(m_set_back, entry.seq);
  for (const core::SeqId seq : step.preempted) {
    if (!contains(m_set_back, seq)) m_set_back.push_back(seq);
  }
  std::vector<LaneCell> cells;
  for (const core::WaitEntry& wait : step.waiting) {
    if (cells.size() == kMaxQueueLanes) break;
    const LaneKind kind = contains(m_set_back, wait.seq) ? LaneKind::kSetBack : LaneKind::kWaiting;
    cells.push_back({.seq = wait.seq, .kind = kind, .reason = wait.reason});
  }
  return cells;
}

// A cancelled request leaves between two steps, without a record.
void LaneHistory::leaveEnded(const core::Snapshot& snapshot) {
  if (m_columns.empty() || snapshot.step_index <= m_columns.back().step_index) return;
  const auto ended = [&snapshot](core::SeqId seq) {
    const auto request = std::ranges::find(snapshot.requests, seq, &core::RequestInfo::seq);
    return request == snapshot.requests.end() || request->state == core::SeqState::kFinished;
  };
  for (core::SeqId& seq : m_batch) {
    if (seq.valid() && ended(seq)) seq = {};
  }
  std::erase_if(m_set_back, ended);
}

LaneUse laneUse(const std::deque<LaneColumn>& columns, std::size_t first, std::size_t end) {
  LaneUse use;
  for (std::size_t i = first; i < end; ++i) {
    use.ran += columns[i].num_ran;
    use.places += columns[i].num_places;
  }
  return use;
}

void LaneWindow::goBack(const std::deque<LaneColumn>& columns, int num_columns, int num_seen) {
  const auto after = static_cast<std::int64_t>(numAfter(columns, num_seen)) + num_columns;
  const auto most = std::max<std::int64_t>(0, std::ssize(columns) - num_seen);
  if (after <= 0 || most == 0) return goLive();
  const auto last = static_cast<std::size_t>(std::ssize(columns) - 1 - std::min(after, most));
  m_last_step = columns[last].step_index;
}

std::size_t LaneWindow::numAfter(const std::deque<LaneColumn>& columns, int num_seen) const {
  if (!m_last_step) return 0;
  const auto after = std::ranges::upper_bound(columns, *m_last_step, {}, &LaneColumn::step_index);
  const auto most = std::max<std::int64_t>(0, std::ssize(columns) - num_seen);
  return static_cast<std::size_t>(std::min<std::int64_t>(columns.end() - after, most));
}

QRect LanesLayout::batchLane(int lane) const {
  return QRect(batch.left(), batch.top() + lane * batch_lane, batch.width(), batch_lane);
}

QRect LanesLayout::queueLane(int lane) const {
  return QRect(queue.left(), queue.top() + lane * queue_lane, queue.width(), queue_lane);
}

LanesLayout layoutLanes(const QSize& size, int line_height, const std::deque<LaneColumn>& columns, int column_width,
                        const LaneWindow& window, int live_width) {
  const QRect inner = QRect(QPoint(), size).adjusted(kMargin, kMargin, -kMargin, -kMargin);
  LanesLayout layout;
  layout.column_width = column_width;
  layout.legend = QRect(inner.left(), inner.bottom() + 1 - line_height, inner.width(), line_height);
  layout.axis = QRect(inner.left(), layout.legend.top() - line_height - 2, inner.width(), line_height);
  int top = placeStrips(layout, inner, line_height);
  layout.axis.setLeft(layout.ran.left());
  if (!window.live()) {
    layout.live = QRect(layout.summary.right() + 1 - live_width, layout.summary.top() - 1, live_width, line_height + 2);
    layout.summary.setRight(layout.live.left() - kSpacing);
  }

  const auto seen = static_cast<std::size_t>(layout.ran.width() / std::max(1, column_width));
  layout.num_columns = columns.size() - window.numAfter(columns, static_cast<int>(seen));
  layout.first_column = layout.num_columns > seen ? layout.num_columns - seen : 0;
  const int right = layout.ran.right() + 1;
  for (std::size_t i = layout.first_column; i < layout.num_columns; ++i) {
    layout.columns.push_back({right - static_cast<int>(layout.num_columns - i) * column_width, column_width});
  }
  top = placeLanes(layout, columns, top, layout.axis.top(), std::mem_fn(&LaneColumn::num_places));
  layout.axis.moveTop(std::min(layout.axis.top(), top));
  return layout;
}

TwoLanesLayout layoutTwoLanes(const QSize& size, int line_height, const std::deque<LaneColumn>& a,
                              const std::deque<LaneColumn>& b, const TimeWindow& window, int live_width) {
  const QRect inner = QRect(QPoint(), size).adjusted(kMargin, kMargin, -kMargin, -kMargin);
  TwoLanesLayout layout;
  layout.all = timeOf(a, b);
  layout.seen = window.seen(layout.all);
  layout.legend = QRect(inner.left(), inner.bottom() + 1 - line_height, inner.width(), line_height);
  layout.axis = layout.legend.translated(0, -line_height - kSpacing);
  const int height = std::max(0, (layout.axis.top() - kSpacing - inner.top()) / 2);
  const QRect upper(inner.left(), inner.top(), inner.width(), height);
  layout.lanes[0] = layoutLanesByTime(upper, line_height, a, layout.seen);
  layout.lanes[1] = layoutLanesByTime(upper.translated(0, height), line_height, b, layout.seen);
  layout.axis.setLeft(layout.lanes[0].ran.left());
  if (!window.fits()) {
    layout.live = QRect(inner.right() + 1 - live_width, layout.legend.top(), live_width, line_height + 2);
    layout.legend.setRight(layout.live.left() - kSpacing);
  }
  return layout;
}

std::optional<LaneHit> hitLane(const LanesLayout& layout, const std::deque<LaneColumn>& columns, const QPoint& point) {
  const int bottom = std::max(layout.queue.bottom(), layout.axis.bottom() - 1);
  const QRect area(layout.ran.topLeft(), QPoint(layout.ran.right(), bottom));
  if (!area.contains(point) || columns.empty()) return std::nullopt;
  // The last one that begins here or before: of several in one pixel the one that is seen.
  const auto after = std::ranges::upper_bound(layout.columns, point.x(), {}, &LanesLayout::Column::left);
  if (after == layout.columns.begin() || std::prev(after)->end() <= point.x()) return std::nullopt;
  LaneHit hit{.column = layout.first_column + static_cast<std::size_t>(after - layout.columns.begin()) - 1};
  const LaneColumn& column = columns[hit.column];
  const auto cellOf = [&](const QRect& lanes, int height, const std::vector<LaneCell>& cells) -> const LaneCell* {
    if (!lanes.contains(point) || height <= 0) return nullptr;
    const auto lane = static_cast<std::size_t>((point.y() - lanes.top()) / height);
    return lane < cells.size() ? &cells[lane] : nullptr;
  };
  hit.cell = cellOf(layout.batch, layout.batch_lane, column.batch);
  if (hit.cell == nullptr) hit.cell = cellOf(layout.queue, layout.queue_lane, column.queue);
  return hit;
}

}  // namespace inferoscope::gui
