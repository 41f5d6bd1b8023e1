// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/batch_lanes_view.h"

#include "gui/paint/marks.h"
#include "gui/paint/metrics.h"
#include "gui/paint/number_format.h"
#include "gui/paint/theme.h"
#include "gui/views/lane_marks.h"
#include "gui/views/lanes.h"
#include "gui/views/lanes_painter.h"
#include "gui/views/words.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace inferoscope::gui {

namespace {

constexpr int kLeastColumn = 3;
constexpr int kWidestColumn = 48;
constexpr int kWheelColumns = 5;  // a notch, sideways
constexpr int kTimeColumn = 10;   // pixels of the axis of time that count as one
constexpr int kEverything = 1'000'000;
constexpr double kZoom = 1.25;  // a notch, of time

double share(std::int64_t part, std::int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0.0;
}

QString idleText(const LaneUse& use) {
  return BatchLanesView::tr("idle place-steps %1 of %2 · %3")
      .arg(countText(use.places - use.ran), countText(use.places), shareText(share(use.places - use.ran, use.places)));
}

}  // namespace

BatchLanesView::BatchLanesView(Selection& selection, QWidget* parent) : View(selection, parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Batch lanes"));
  setAccessibleDescription(
      tr("Which requests ran, waited or were preempted in each step. The left and right arrow "
         "keys go to earlier and later steps, End to the latest. Of a "
         "comparison both lanes are drawn on one axis of lane time."));
  connect(&selection, &Selection::changed, this, qOverload<>(&QWidget::update));
}

void BatchLanesView::showModel(const ModelInfo&) {
  m_has_model = true;
  m_tracks = {};
  m_window.goLive();
  m_time.fit();
  update();
}

void BatchLanesView::showLimits(const core::MachineLimits&) {}

void BatchLanesView::showFrame(const Frame& frame) {
  const auto add = [](Track& track, const LaneFrame& lane) {
    track.history.add(lane);
    if (lane.snapshot) track.snapshot = lane.snapshot;
  };
  add(m_tracks[0], frame);
  if (frame.b) {
    add(m_tracks[1], *frame.b);
  } else {
    m_tracks[1] = {};
  }
  update();
}

BatchLanesView::Layout BatchLanesView::layoutNow() const {
  const QFontMetrics metrics(smallFont(font()));
  const int live_width = metrics.horizontalAdvance(liveWords()) + 2 * kMargin;
  Layout layout;
  if (two()) {
    layout.two =
        layoutTwoLanes(size(), metrics.height(), m_tracks[0].columns(), m_tracks[1].columns(), m_time, live_width);
    layout.lanes = layout.two->lanes;
    layout.live = layout.two->live;
  } else {
    layout.lanes[0] =
        layoutLanes(size(), metrics.height(), m_tracks[0].columns(), m_column_width, m_window, live_width);
    layout.live = layout.lanes[0].live;
  }
  return layout;
}

std::vector<BatchLanesView::Place> BatchLanesView::placesIn(const Layout& layout) const {
  std::vector<Place> places = {{m_tracks[0], layout.lanes[0]}};
  if (two()) places.push_back({m_tracks[1], layout.lanes[1]});
  return places;
}

void BatchLanesView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = themeOf(palette());
  painter.fillRect(rect(), theme.surface);
  if (m_tracks[0].columns().empty() && m_tracks[1].columns().empty()) {
    paintEmptyState(painter, rect(), m_has_model ? firstStepWords() : noModelWords(), theme);
    return;
  }
  painter.setFont(smallFont(font()));
  paintAll(painter, layoutNow(), theme);
}

void BatchLanesView::paintAll(QPainter& painter, const Layout& layout, const Theme& theme) const {
  for (const Place& place : placesIn(layout)) {
    const LanesPicture picture{place.layout, place.track.columns(), place.track.snapshot.get(), m_selection.shown(),
                               theme};
    paintStrips(painter, picture);
    paintLanes(painter, picture);
    paintNames(painter, picture);
    if (!layout.two) {
      paintSummary(painter, place, theme);
      paintStepAxis(painter, picture);
    }
  }
  if (layout.two) {
    for (const core::LaneId id : kLanes) {
      paintLaneSummary(painter, id, placesIn(layout)[static_cast<std::size_t>(id)], theme);
    }
    paintTimeAxis(painter, *layout.two, theme);
  }
  paintLanesLegend(painter, layout.two ? layout.two->legend : layout.lanes[0].legend, theme);
  paintLive(painter, layout.live, theme);
}

QString BatchLanesView::liveWords() const {
  return two() ? tr("all") : tr("▶ live");
}

void BatchLanesView::paintLive(QPainter& painter, const QRect& button, const Theme& theme) const {
  if (button.isEmpty()) return;
  painter.fillRect(button, theme.text);
  painter.setPen(theme.surface);
  painter.drawText(button, Qt::AlignCenter, liveWords());
}

// Of the last step that is seen.
QString BatchLanesView::summaryText(const Place& place) const {
  if (place.layout.num_columns == 0) return {};
  const LaneColumn& last = place.track.columns()[place.layout.num_columns - 1];
  return tr("ran %1 of %2 · waiting %3").arg(last.num_ran).arg(last.num_places).arg(last.num_waiting);
}

void BatchLanesView::paintSummary(QPainter& painter, const Place& place, const Theme& theme) const {
  const QString now = summaryText(place);
  const QString idle = idleText(laneUse(place.track.columns(), place.layout.first_column, place.layout.num_columns));
  painter.setPen(theme.text);
  painter.drawText(place.layout.summary, Qt::AlignLeft | Qt::AlignVCenter, now);
  const QFontMetrics metrics = painter.fontMetrics();
  const int room = place.layout.summary.width() - metrics.horizontalAdvance(now) - 2 * kMargin;
  if (room < metrics.horizontalAdvance(idle)) return;
  painter.setPen(theme.dim);
  painter.drawText(place.layout.summary, Qt::AlignRight | Qt::AlignVCenter, idle);
}

// The lane's name, what sets it apart, where its clock stands, and as much of the rest as there is room for.
void BatchLanesView::paintLaneSummary(QPainter& painter, core::LaneId id, const Place& place,
                                      const Theme& theme) const {
  const core::Snapshot& own = *place.track.snapshot;
  const core::Snapshot& other = *m_tracks[id == core::LaneId::kA ? 1 : 0].snapshot;
  QRect row = place.layout.summary;
  row.adjust(paintLaneTag(painter, row, laneName(id), laneColor(id, theme)) + kSpacing, 0, 0, 0);
  painter.setFont(smallFont(font()));
  const QFontMetrics metrics = painter.fontMetrics();
  const QString settings = laneSettings(own.options, other.options);
  int room = row.width() - std::min(metrics.horizontalAdvance(settings), row.width() / 2) - 2 * kMargin;
  QStringList figures;
  for (const QString& figure :
       {durationText(own.lane_ns), summaryText(place),
        idleText(laneUse(place.track.columns(), place.layout.first_column, place.layout.num_columns))}) {
    const int width = metrics.horizontalAdvance(figure + QStringLiteral("  ·  "));
    if (figure.isEmpty() || width > room) break;
    room -= width;
    figures.prepend(figure);
  }
  const QString right = figures.join(QStringLiteral("  ·  "));
  painter.setPen(theme.dim);
  painter.drawText(row, Qt::AlignRight | Qt::AlignVCenter, right);
  row.setWidth(row.width() - metrics.horizontalAdvance(right) - kSpacing);
  painter.setPen(theme.text);
  painter.drawText(row, Qt::AlignLeft | Qt::AlignVCenter, metrics.elidedText(settings, Qt::ElideRight, row.width()));
}

core::SeqId BatchLanesView::requestAt(const QPoint& point) const {
  const Layout layout = layoutNow();
  for (const Place& place : placesIn(layout)) {
    const auto hit = hitLane(place.layout, place.track.columns(), point);
    if (hit && hit->cell != nullptr) return hit->cell->seq;
  }
  return {};
}

// Dragged, the steps follow the mouse.
void BatchLanesView::mouseMoveEvent(QMouseEvent* event) {
  const QPoint point = event->position().toPoint();
  if (m_drag && (event->buttons() & Qt::LeftButton) != 0) {
    const int unit = two() ? 1 : m_column_width;
    const int columns = (point.x() - m_drag->x) / unit;
    if (columns == 0) return;
    *m_drag = {.x = m_drag->x + columns * unit, .moved = true};
    return two() ? moveTime(-columns) : goBack(columns);
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

// Up and down: more or fewer steps, or more or less time at once. Sideways, or with Shift: earlier or later steps.
void BatchLanesView::wheelEvent(QWheelEvent* event) {
  const QPoint turn = event->angleDelta();
  const bool sideways = turn.x() != 0 || event->modifiers().testFlag(Qt::ShiftModifier);
  const int amount = turn.x() != 0 ? turn.x() : turn.y();
  if (amount == 0) return;
  event->accept();
  if (sideways) return goBack(amount > 0 ? kWheelColumns : -kWheelColumns);
  if (two()) return zoom(event->position().toPoint().x(), amount > 0);
  const double factor = amount > 0 ? 1.25 : 0.8;
  const int wider = amount > 0 ? m_column_width + 1 : m_column_width - 1;
  const int scaled = static_cast<int>(std::lround(m_column_width * factor));
  m_column_width =
      std::clamp(factor > 1 ? std::max(wider, scaled) : std::min(wider, scaled), kLeastColumn, kWidestColumn);
  update();
}

void BatchLanesView::keyPressEvent(QKeyEvent* event) {
  const int page = std::max(1, numSeen() - 1);
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
      return goBack(two() ? kEverything : static_cast<int>(m_tracks[0].columns().size()));
    case Qt::Key_End:
      return goLive();
    default:
      return View::keyPressEvent(event);
  }
}

// By time a stretch of some pixels counts as a column.
int BatchLanesView::numSeen() const {
  const Layout layout = layoutNow();
  return two() ? layout.lanes[0].ran.width() / kTimeColumn : layout.lanes[0].numSeen();
}

void BatchLanesView::goBack(int num_columns) {
  if (two()) return moveTime(-num_columns * kTimeColumn);
  m_window.goBack(m_tracks[0].columns(), num_columns, numSeen());
  update();
}

void BatchLanesView::moveTime(int pixels) {
  const Layout layout = layoutNow();
  const double ns_per_pixel = static_cast<double>(layout.two->seen.length()) / std::max(1, layout.two->axis.width());
  m_time.move(layout.two->all, std::llround(pixels * ns_per_pixel));
  update();
}

void BatchLanesView::goLive() {
  m_window.goLive();
  m_time.fit();
  update();
}

void BatchLanesView::zoom(int x, bool nearer) {
  const Layout layout = layoutNow();
  m_time.zoom(layout.two->all, nearer ? 1 / kZoom : kZoom, layout.two->seen.nsAt(x, layout.two->axis));
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
  const Layout layout = layoutNow();
  if (layout.live.contains(point)) {
    return two() ? tr("All of the time that is known") : tr("Back to the latest step, and stay there");
  }
  for (const Place& place : placesIn(layout)) {
    const auto& columns = place.track.columns();
    if (columns.empty()) continue;
    if (place.layout.summary.contains(point)) return useText(place);
    const auto hit = hitLane(place.layout, columns, point);
    if (!hit) continue;
    const LaneColumn& column = columns[hit->column];
    if (hit->cell == nullptr || hit->cell->kind == LaneKind::kIdle) return columnText(column);
    return cellText(*hit->cell, place.track.snapshot.get()) + QStringLiteral("\n") + columnText(column);
  }
  return {};
}

QString BatchLanesView::useText(const Place& place) const {
  const LaneUse use = laneUse(place.track.columns(), place.layout.first_column, place.layout.num_columns);
  const std::int64_t idle = use.places - use.ran;
  const QString figure =
      explainMetric(Metric::kIdlePlaces,
                    tr("%1 ÷ %2 = %3").arg(countText(idle), countText(use.places), shareText(share(idle, use.places))));
  const QString places = tr("\nLanes are places given by this view; the engine itself numbers none. ");
  return figure + places +
         (two() ? tr("Both lanes are drawn over their own clocks, on one axis. The wheel shows more or less time; drag "
                     "it, or turn the wheel with Shift, to see another part.")
                : tr("The wheel shows more or fewer steps; drag them, or turn the wheel with Shift, to see earlier "
                     "ones."));
}

QString BatchLanesView::columnText(const LaneColumn& column) {
  QString text =
      tr("Step %1, %2 (measured), at %3 of the lane's clock")
          .arg(countText(column.step_index), durationText(column.duration_ns), durationText(column.start_ns));
  text += tr("\n%1 prefill and %2 decode tokens")
              .arg(countText(column.num_prefill_tokens), countText(column.num_decode_tokens));
  text += tr("\nran %1 of %2, waiting %3").arg(column.num_ran).arg(column.num_places).arg(column.num_waiting);
  if (column.num_missed > 0) text += tr("\n%1 records before it were dropped").arg(countText(column.num_missed));
  return text;
}

QString BatchLanesView::cellText(const LaneCell& cell, const core::Snapshot* snapshot) {
  QString text = requestName(snapshot, cell.seq) + QStringLiteral(": ") + laneKindWord(cell.kind);
  if (cell.num_tokens > 0) text += tr(", %1 tokens").arg(countText(cell.num_tokens));
  if (cell.finished) text += tr(", finished");
  const QString reason = waitReasonWords(cell.reason);
  if (!reason.isEmpty()) text += QStringLiteral(" (") + reason + QStringLiteral(")");
  return text;
}

}  // namespace inferoscope::gui
