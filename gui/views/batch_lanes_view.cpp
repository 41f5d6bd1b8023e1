// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/batch_lanes_view.h"

#include "gui/paint/marks.h"
#include "gui/paint/metrics.h"
#include "gui/paint/number_format.h"
#include "gui/paint/theme.h"
#include "gui/views/lane_marks.h"
#include "gui/views/words.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <array>
#include <cmath>

namespace inferoscope::gui {

namespace {

constexpr int kLeastColumn = 3;
constexpr int kWidestColumn = 48;
constexpr int kWheelColumns = 5;  // a notch, sideways

double share(std::int64_t part, std::int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0.0;
}

// Is the request in one of the columns that are seen?
bool isSeen(const LanesLayout& layout, const std::deque<LaneColumn>& columns, core::SeqId seq) {
  if (!seq.valid()) return false;
  const auto holds = [seq](const std::vector<LaneCell>& cells) {
    return std::ranges::find(cells, seq, &LaneCell::seq) != cells.end();
  };
  for (std::size_t i = layout.first_column; i < layout.num_columns; ++i) {
    if (holds(columns[i].batch) || holds(columns[i].queue)) return true;
  }
  return false;
}

// Between lanes of some height.
int gapOf(int lane_height) {
  return lane_height >= 6 ? 1 : 0;
}

}  // namespace

BatchLanesView::BatchLanesView(Selection& selection, QWidget* parent) : View(selection, parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Batch lanes"));
  setAccessibleDescription(
      tr("Which requests ran, waited or were preempted in each step. The left and right arrow "
         "keys go to earlier and later steps, End to the latest."));
  connect(&selection, &Selection::changed, this, qOverload<>(&QWidget::update));
}

void BatchLanesView::showModel(const ModelInfo&) {
  m_has_model = true;
  m_history.clear();
  m_window.goLive();
  m_snapshot.reset();
  update();
}

void BatchLanesView::showLimits(const core::MachineLimits&) {}

void BatchLanesView::showFrame(const Frame& frame) {
  m_history.add(frame);
  if (frame.snapshot) m_snapshot = frame.snapshot;
  update();
}

LanesLayout BatchLanesView::layoutNow() const {
  const QFontMetrics metrics(smallFont(font()));
  return layoutLanes(size(), metrics.height(), m_history.columns(), m_column_width, m_window,
                     metrics.horizontalAdvance(liveWords()) + 2 * kMargin);
}

void BatchLanesView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = themeOf(palette());
  painter.fillRect(rect(), theme.surface);
  if (m_history.columns().empty()) {
    paintEmptyState(painter, rect(), m_has_model ? firstStepWords() : noModelWords(), theme);
    return;
  }
  const LanesLayout layout = layoutNow();
  painter.setFont(smallFont(font()));
  paintSummary(painter, layout, theme);
  paintStrips(painter, layout, theme);
  paintLanes(painter, layout, theme);
  paintNames(painter, layout, theme);
  paintAxis(painter, layout, theme);
  paintLegend(painter, layout, theme);
  paintLive(painter, layout, theme);
}

QString BatchLanesView::liveWords() {
  return tr("▶ live");
}

void BatchLanesView::paintLive(QPainter& painter, const LanesLayout& layout, const Theme& theme) const {
  if (layout.live.isEmpty()) return;
  painter.fillRect(layout.live, theme.text);
  painter.setPen(theme.surface);
  painter.drawText(layout.live, Qt::AlignCenter, liveWords());
}

void BatchLanesView::paintSummary(QPainter& painter, const LanesLayout& layout, const Theme& theme) const {
  const LaneColumn& last = m_history.columns()[layout.num_columns - 1];
  const LaneUse use = laneUse(m_history.columns(), layout.first_column, layout.num_columns);
  const QString now = tr("ran %1 of %2 · waiting %3").arg(last.num_ran).arg(last.num_places).arg(last.num_waiting);
  const QString idle = tr("idle place-steps %1 of %2 · %3")
                           .arg(countText(use.places - use.ran), countText(use.places),
                                shareText(share(use.places - use.ran, use.places)));
  painter.setPen(theme.text);
  painter.drawText(layout.summary, Qt::AlignLeft | Qt::AlignVCenter, now);
  const QFontMetrics metrics = painter.fontMetrics();
  const int room = layout.summary.width() - metrics.horizontalAdvance(now) - 2 * kMargin;
  if (room < metrics.horizontalAdvance(idle)) return;
  painter.setPen(theme.dim);
  painter.drawText(layout.summary, Qt::AlignRight | Qt::AlignVCenter, idle);
}

void BatchLanesView::paintStrips(QPainter& painter, const LanesLayout& layout, const Theme& theme) const {
  const auto& columns = m_history.columns();
  int most_waiting = 4;  // so that one in the queue doesn't look like a crowd
  for (std::size_t i = layout.first_column; i < layout.num_columns; ++i) {
    most_waiting = std::max(most_waiting, columns[i].num_waiting);
  }
  const int gap = layout.column_width >= 6 ? 1 : 0;
  const auto bar = [&](const QRect& strip, std::size_t column, double part, const QColor& color) {
    const int height = static_cast<int>(std::ceil(strip.height() * std::clamp(part, 0.0, 1.0)));
    painter.fillRect(layout.columnX(column), strip.bottom() + 1 - height, layout.column_width - gap, height, color);
  };
  for (std::size_t i = layout.first_column; i < layout.num_columns; ++i) {
    bar(layout.ran, i, 1, theme.well);
    bar(layout.ran, i, share(columns[i].num_ran, columns[i].num_places), theme.quiet);
    bar(layout.waiting, i, share(columns[i].num_waiting, most_waiting), theme.quiet);
  }
  painter.setPen(theme.line);
  painter.drawLine(layout.waiting.bottomLeft() + QPoint(0, 1), layout.waiting.bottomRight() + QPoint(0, 1));
}

void BatchLanesView::paintLanes(QPainter& painter, const LanesLayout& layout, const Theme& theme) const {
  const auto& columns = m_history.columns();
  const core::SeqId shown = m_selection.shown();
  const bool fade = isSeen(layout, columns, shown);
  const int left = layout.columnX(layout.first_column);
  for (int lane = 0; lane < layout.batch_lanes; ++lane) {
    const QRect place = layout.batchLane(lane);
    painter.fillRect(left, place.top(), place.right() + 1 - left, place.height() - gapOf(layout.batch_lane),
                     theme.well);
  }
  painter.save();
  QFont digits = painter.font();
  digits.setPixelSize(std::clamp(layout.batch_lane - 6, 8, 11));
  painter.setFont(digits);
  const auto paintCell = [&](const QRect& lane, std::size_t column, const LaneCell& cell) {
    if (cell.kind == LaneKind::kIdle) return;
    const QRect place(layout.columnX(column), lane.top(), layout.column_width, lane.height() - gapOf(lane.height()));
    paintLaneCell(painter, place, cell, fade && cell.seq != shown, theme);
  };
  for (std::size_t i = layout.first_column; i < layout.num_columns; ++i) {
    const int in_batch = std::min(layout.batch_lanes, static_cast<int>(columns[i].batch.size()));
    const int in_queue = std::min(layout.queue_lanes, static_cast<int>(columns[i].queue.size()));
    for (int k = 0; k < in_batch; ++k) paintCell(layout.batchLane(k), i, columns[i].batch[static_cast<std::size_t>(k)]);
    for (int k = 0; k < in_queue; ++k) paintCell(layout.queueLane(k), i, columns[i].queue[static_cast<std::size_t>(k)]);
    if (columns[i].num_missed == 0) continue;
    painter.setPen(QPen(theme.dim, 1, Qt::DashLine));
    painter.drawLine(layout.columnX(i), layout.batch.top(), layout.columnX(i), layout.axis.top());
  }
  painter.restore();
}

// What the strips are, and who is in each place of the batch now.
void BatchLanesView::paintNames(QPainter& painter, const LanesLayout& layout, const Theme& theme) const {
  if (layout.gutter == 0) return;
  const QFontMetrics metrics = painter.fontMetrics();
  const int width = layout.gutter - kSpacing;
  const auto put = [&](const QRect& row, const QString& words, const QColor& color) {
    const QRect area(kMargin, row.center().y() - metrics.height() / 2, width, metrics.height());
    painter.setPen(color);
    painter.drawText(area, Qt::AlignLeft | Qt::AlignVCenter, metrics.elidedText(words, Qt::ElideMiddle, width));
  };
  put(layout.ran, tr("ran"), theme.dim);
  put(layout.waiting, tr("waiting"), theme.dim);
  if (layout.queue_lanes > 0) put(layout.queueLane(0), tr("queue"), theme.dim);
  if (layout.batch_lane < metrics.height() - 2) return;
  const std::vector<LaneCell>& places = m_history.columns()[layout.num_columns - 1].batch;
  for (int i = 0; i < std::min(layout.batch_lanes, static_cast<int>(places.size())); ++i) {
    const core::SeqId seq = places[static_cast<std::size_t>(i)].seq;
    if (!seq.valid()) continue;
    put(layout.batchLane(i), requestName(m_snapshot.get(), seq), seq == m_selection.shown() ? theme.text : theme.dim);
  }
}

void BatchLanesView::paintAxis(QPainter& painter, const LanesLayout& layout, const Theme& theme) const {
  const auto& columns = m_history.columns();
  const int label_width =
      painter.fontMetrics().horizontalAdvance(tr("step %1").arg(countText(columns.back().step_index)));
  const auto every = std::max(1, (label_width + 2 * kMargin) / layout.column_width + 1);
  painter.setPen(theme.dim);
  int free_right = layout.axis.right() + 1;
  for (std::size_t i = layout.num_columns; i-- > layout.first_column;) {
    const bool latest = i + 1 == layout.num_columns;
    if (!latest && columns[i].step_index % every != 0) continue;
    const QString words =
        latest ? tr("step %1").arg(countText(columns[i].step_index)) : countText(columns[i].step_index);
    const int right = layout.columnX(i) + layout.column_width;
    const int width = painter.fontMetrics().horizontalAdvance(words);
    if (right > free_right || right - width < layout.axis.left()) continue;
    painter.drawText(QRect(right - width, layout.axis.top(), width + 1, layout.axis.height()), Qt::AlignRight, words);
    free_right = right - width - kMargin;
  }
}

void BatchLanesView::paintLegend(QPainter& painter, const LanesLayout& layout, const Theme& theme) const {
  constexpr std::array kKinds = {LaneKind::kPrefill, LaneKind::kDecode,    LaneKind::kHeld,   LaneKind::kIdle,
                                 LaneKind::kWaiting, LaneKind::kPreempted, LaneKind::kSetBack};
  const QFontMetrics metrics = painter.fontMetrics();
  const int side = std::max(9, metrics.ascent());
  int x = layout.legend.left();
  for (const LaneKind kind : kKinds) {
    const QString words = laneKindWord(kind);
    const int width = side + 5 + metrics.horizontalAdvance(words);
    if (x + width > layout.legend.right() + 1) return;
    const QRect place(x, layout.legend.center().y() - side / 2 + 1, side, side);
    if (kind == LaneKind::kIdle) painter.fillRect(place, theme.well);
    paintLaneCell(painter, place, {.seq = core::SeqId{1}, .kind = kind}, false, theme);
    painter.setPen(theme.dim);
    painter.drawText(QRect(x + side + 5, layout.legend.top(), width, layout.legend.height()),
                     Qt::AlignLeft | Qt::AlignVCenter, words);
    x += width + 2 * kMargin;
  }
}

core::SeqId BatchLanesView::requestAt(const QPoint& point) const {
  const auto hit = hitLane(layoutNow(), m_history.columns(), point);
  return hit && hit->cell != nullptr ? hit->cell->seq : core::SeqId{};
}

// Dragged, the steps follow the mouse.
void BatchLanesView::mouseMoveEvent(QMouseEvent* event) {
  const QPoint point = event->position().toPoint();
  if (m_drag && (event->buttons() & Qt::LeftButton) != 0) {
    const int columns = (point.x() - m_drag->x) / m_column_width;
    if (columns == 0) return;
    *m_drag = {.x = m_drag->x + columns * m_column_width, .moved = true};
    return goBack(columns);
  }
  m_selection.setHovered(requestAt(point));
}

void BatchLanesView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const QPoint point = event->position().toPoint();
  if (layoutNow().live.contains(point)) return goLive();
  m_drag = Drag{.x = point.x(), .moved = false};
}

void BatchLanesView::mouseReleaseEvent(QMouseEvent* event) {
  if (m_drag && !m_drag->moved) m_selection.setRequest(requestAt(event->position().toPoint()));
  m_drag.reset();
}

// Up and down: more or fewer steps at once. Sideways, or with Shift: earlier or later steps.
void BatchLanesView::wheelEvent(QWheelEvent* event) {
  const QPoint turn = event->angleDelta();
  const bool sideways = turn.x() != 0 || event->modifiers().testFlag(Qt::ShiftModifier);
  const int amount = turn.x() != 0 ? turn.x() : turn.y();
  if (amount == 0) return;
  event->accept();
  if (sideways) return goBack(amount > 0 ? kWheelColumns : -kWheelColumns);
  const double factor = amount > 0 ? 1.25 : 0.8;
  const int wider = amount > 0 ? m_column_width + 1 : m_column_width - 1;
  const int scaled = static_cast<int>(std::lround(m_column_width * factor));
  m_column_width =
      std::clamp(factor > 1 ? std::max(wider, scaled) : std::min(wider, scaled), kLeastColumn, kWidestColumn);
  update();
}

void BatchLanesView::keyPressEvent(QKeyEvent* event) {
  const int page = std::max(1, layoutNow().numSeen() - 1);
  switch (event->key()) {
    case Qt::Key_Left:
      return goBack(1);
    case Qt::Key_Right:
      return goBack(-1);
    case Qt::Key_PageUp:
      return goBack(page);
    case Qt::Key_PageDown:
      return goBack(-page);
    case Qt::Key_Home:
      return goBack(static_cast<int>(m_history.columns().size()));
    case Qt::Key_End:
      return goLive();
    default:
      return View::keyPressEvent(event);
  }
}

void BatchLanesView::goBack(int num_columns) {
  m_window.goBack(m_history.columns(), num_columns, layoutNow().numSeen());
  update();
}

void BatchLanesView::goLive() {
  m_window.goLive();
  update();
}

void BatchLanesView::leaveEvent(QEvent*) {
  m_selection.setHovered({});
}

bool BatchLanesView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return View::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QString words = explain(help->pos());
  words.isEmpty() ? QToolTip::hideText() : QToolTip::showText(help->globalPos(), tipText(words), this);
  return true;
}

QString BatchLanesView::explain(const QPoint& point) const {
  const LanesLayout layout = layoutNow();
  if (m_history.columns().empty()) return {};
  if (layout.live.contains(point)) return tr("Back to the latest step, and stay there");
  if (layout.summary.contains(point)) {
    const LaneUse use = laneUse(m_history.columns(), layout.first_column, layout.num_columns);
    const std::int64_t idle = use.places - use.ran;
    return explainMetric(
               Metric::kIdlePlaces,
               tr("%1 ÷ %2 = %3").arg(countText(idle), countText(use.places), shareText(share(idle, use.places)))) +
           tr("\nLanes are places given by this view; the engine itself numbers none. The wheel shows more or fewer "
              "steps; drag them, or turn the wheel with Shift, to see earlier ones.");
  }
  const auto hit = hitLane(layout, m_history.columns(), point);
  if (!hit) return {};
  const LaneColumn& column = m_history.columns()[hit->column];
  if (hit->cell == nullptr || hit->cell->kind == LaneKind::kIdle) return columnText(column);
  return cellText(*hit->cell) + QStringLiteral("\n") + columnText(column);
}

QString BatchLanesView::columnText(const LaneColumn& column) const {
  QString text = tr("Step %1, %2 (measured)").arg(countText(column.step_index), durationText(column.duration_ns));
  text += tr("\n%1 prefill and %2 decode tokens")
              .arg(countText(column.num_prefill_tokens), countText(column.num_decode_tokens));
  text += tr("\nran %1 of %2, waiting %3").arg(column.num_ran).arg(column.num_places).arg(column.num_waiting);
  if (column.num_missed > 0) text += tr("\n%1 records before it were dropped").arg(countText(column.num_missed));
  return text;
}

QString BatchLanesView::cellText(const LaneCell& cell) const {
  QString text = requestName(m_snapshot.get(), cell.seq) + QStringLiteral(": ") + laneKindWord(cell.kind);
  if (cell.num_tokens > 0) text += tr(", %1 tokens").arg(countText(cell.num_tokens));
  if (cell.finished) text += tr(", finished");
  const QString reason = waitReasonWords(cell.reason);
  if (!reason.isEmpty()) text += QStringLiteral(" (") + reason + QStringLiteral(")");
  return text;
}

}  // namespace inferoscope::gui
