// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/lanes_painter.h"

#include "gui/paint/marks.h"
#include "gui/paint/number_format.h"
#include "gui/views/lane_marks.h"
#include "gui/views/words.h"

#include <QCoreApplication>

#include <algorithm>
#include <array>
#include <cmath>

namespace inferoscope::gui {

namespace {

class LanesPainter {
  Q_DECLARE_TR_FUNCTIONS(LanesPainter)
};

double share(int part, int all) {
  return all > 0 ? static_cast<double>(part) / all : 0.0;
}

// Is the request in one of the columns that are seen?
bool isSeen(const LanesPicture& picture, core::SeqId seq) {
  if (!seq.valid()) return false;
  const auto holds = [seq](const std::vector<LaneCell>& cells) {
    return std::ranges::find(cells, seq, &LaneCell::seq) != cells.end();
  };
  for (std::size_t i = picture.layout.first_column; i < picture.layout.num_columns; ++i) {
    if (holds(picture.columns[i].batch) || holds(picture.columns[i].queue)) return true;
  }
  return false;
}

// Between lanes of some height.
int gapOf(int lane_height) {
  return lane_height >= 6 ? 1 : 0;
}

// Columns too narrow to be set apart join where the same goes on: a long run of them is one rectangle.
bool goesOn(const LaneCell& before, const LanesLayout::Column& column_before, const LaneCell& cell,
            const LanesLayout::Column& column) {
  return column.width < kGapFrom && column.left <= column_before.end() && cell.seq == before.seq &&
         cell.kind == before.kind && !before.finished;
}

void paintLane(QPainter& painter, const LanesPicture& picture, const QRect& lane, std::size_t index,
               std::vector<LaneCell> LaneColumn::*cells, bool fade) {
  const LanesLayout& layout = picture.layout;
  const auto cellOf = [&](std::size_t column) -> const LaneCell* {
    const std::vector<LaneCell>& all = picture.columns[column].*cells;
    return index < all.size() && all[index].kind != LaneKind::kIdle ? &all[index] : nullptr;
  };
  for (std::size_t i = layout.first_column; i < layout.num_columns; ++i) {
    const LaneCell* first = cellOf(i);
    if (first == nullptr) continue;
    LaneCell run = *first;
    const int left = layout.columnX(i);
    while (i + 1 < layout.num_columns) {
      const LaneCell* next = cellOf(i + 1);
      if (next == nullptr || !goesOn(run, layout.column(i), *next, layout.column(i + 1))) break;
      run.num_tokens += next->num_tokens;
      run.finished = next->finished;
      ++i;
    }
    const QRect place(left, lane.top(), layout.column(i).end() - left, lane.height() - gapOf(lane.height()));
    paintLaneCell(painter, place, run, fade && run.seq != picture.shown, picture.theme);
  }
}

}  // namespace

void paintStrips(QPainter& painter, const LanesPicture& picture) {
  const LanesLayout& layout = picture.layout;
  if (layout.ran.isEmpty()) return;
  int most_waiting = 4;  // so that one in the queue doesn't look like a crowd
  for (std::size_t i = layout.first_column; i < layout.num_columns; ++i) {
    most_waiting = std::max(most_waiting, picture.columns[i].num_waiting);
  }
  const auto bar = [&](const QRect& strip, const LanesLayout::Column& column, double part, const QColor& color) {
    const int height = static_cast<int>(std::ceil(strip.height() * std::clamp(part, 0.0, 1.0)));
    const int gap = column.width >= kGapFrom ? 1 : 0;
    painter.fillRect(column.left, strip.bottom() + 1 - height, column.width - gap, height, color);
  };
  for (std::size_t i = layout.first_column; i < layout.num_columns; ++i) {
    const LaneColumn& step = picture.columns[i];
    bar(layout.ran, layout.column(i), 1, picture.theme.well);
    bar(layout.ran, layout.column(i), share(step.num_ran, step.num_places), picture.theme.quiet);
    bar(layout.waiting, layout.column(i), share(step.num_waiting, most_waiting), picture.theme.quiet);
  }
  painter.setPen(picture.theme.line);
  painter.drawLine(layout.waiting.bottomLeft() + QPoint(0, 1), layout.waiting.bottomRight() + QPoint(0, 1));
}

void paintLanes(QPainter& painter, const LanesPicture& picture) {
  const LanesLayout& layout = picture.layout;
  if (layout.columns.empty()) return;
  const bool fade = isSeen(picture, picture.shown);
  const int left = layout.columns.front().left;
  const int right = layout.columns.back().end();
  painter.save();
  QFont digits = painter.font();
  digits.setPixelSize(std::clamp(layout.batch_lane - 6, 8, 11));
  painter.setFont(digits);
  for (int lane = 0; lane < layout.batch_lanes; ++lane) {
    const QRect place = layout.batchLane(lane);
    painter.fillRect(left, place.top(), right - left, place.height() - gapOf(layout.batch_lane), picture.theme.well);
    paintLane(painter, picture, place, static_cast<std::size_t>(lane), &LaneColumn::batch, fade);
  }
  for (int lane = 0; lane < layout.queue_lanes; ++lane) {
    paintLane(painter, picture, layout.queueLane(lane), static_cast<std::size_t>(lane), &LaneColumn::queue, fade);
  }
  painter.setPen(QPen(picture.theme.dim, 1, Qt::DashLine));
  for (std::size_t i = layout.first_column; i < layout.num_columns; ++i) {
    if (picture.columns[i].num_missed == 0) continue;
    painter.drawLine(layout.columnX(i), layout.batch.top(), layout.columnX(i), layout.queue.bottom() + kSpacing);
  }
  painter.restore();
}

void paintNames(QPainter& painter, const LanesPicture& picture) {
  const LanesLayout& layout = picture.layout;
  if (layout.gutter == 0) return;
  const QFontMetrics metrics = painter.fontMetrics();
  const int width = layout.gutter - kSpacing;
  const auto put = [&](const QRect& row, const QString& words, const QColor& color) {
    const QRect area(kMargin, row.center().y() - metrics.height() / 2, width, metrics.height());
    painter.setPen(color);
    painter.drawText(area, Qt::AlignLeft | Qt::AlignVCenter, metrics.elidedText(words, Qt::ElideMiddle, width));
  };
  if (!layout.ran.isEmpty()) {
    put(layout.ran, LanesPainter::tr("ran"), picture.theme.dim);
    put(layout.waiting, LanesPainter::tr("waiting"), picture.theme.dim);
  }
  if (layout.queue_lanes > 0) put(layout.queueLane(0), LanesPainter::tr("queue"), picture.theme.dim);
  if (layout.batch_lane < metrics.height() - 2 || layout.num_columns == 0) return;
  const std::vector<LaneCell>& places = picture.columns[layout.num_columns - 1].batch;
  for (int i = 0; i < std::min(layout.batch_lanes, static_cast<int>(places.size())); ++i) {
    const core::SeqId seq = places[static_cast<std::size_t>(i)].seq;
    if (!seq.valid()) continue;
    put(layout.batchLane(i), requestName(picture.snapshot, seq),
        seq == picture.shown ? picture.theme.text : picture.theme.dim);
  }
}

void paintStepAxis(QPainter& painter, const LanesPicture& picture) {
  const LanesLayout& layout = picture.layout;
  const auto& columns = picture.columns;
  const auto named = [](std::int64_t step) { return LanesPainter::tr("step %1").arg(countText(step)); };
  const int label_width = painter.fontMetrics().horizontalAdvance(named(columns.back().step_index));
  const auto every = std::max(1, (label_width + 2 * kMargin) / layout.column_width + 1);
  painter.setPen(picture.theme.dim);
  int free_right = layout.axis.right() + 1;
  for (std::size_t i = layout.num_columns; i-- > layout.first_column;) {
    const bool latest = i + 1 == layout.num_columns;
    if (!latest && columns[i].step_index % every != 0) continue;
    const QString words = latest ? named(columns[i].step_index) : countText(columns[i].step_index);
    const int right = layout.column(i).end();
    const int width = painter.fontMetrics().horizontalAdvance(words);
    if (right > free_right || right - width < layout.axis.left()) continue;
    painter.drawText(QRect(right - width, layout.axis.top(), width + 1, layout.axis.height()), Qt::AlignRight, words);
    free_right = right - width - kMargin;
  }
}

// One for both, so that who is ahead is seen: a line where each lane's clock stands.
void paintTimeAxis(QPainter& painter, const TwoLanesLayout& layout, const Theme& theme) {
  const QFontMetrics metrics = painter.fontMetrics();
  painter.setPen(theme.line);
  painter.drawLine(layout.axis.topLeft(), layout.axis.topRight());
  const int distance = metrics.horizontalAdvance(QStringLiteral("0.000 s")) + 2 * kMargin;
  int free_left = layout.axis.left() - layout.lanes[0].gutter;
  for (const TimeTick& tick : timeTicks(layout.seen, layout.axis, distance)) {
    painter.setPen(theme.line);
    painter.drawLine(tick.x, layout.axis.top(), tick.x, layout.axis.top() + 3);
    const int width = metrics.horizontalAdvance(tick.text);
    const int left = std::min(tick.x - width / 2, layout.axis.right() - width);
    if (left < free_left) continue;
    painter.setPen(theme.dim);
    painter.drawText(QRect(left, layout.axis.top() + 2, width + 1, layout.axis.height()), Qt::AlignCenter, tick.text);
    free_left = left + width + kMargin;
  }
}

void paintLanesLegend(QPainter& painter, const QRect& legend, const Theme& theme) {
  constexpr std::array kKinds = {LaneKind::kPrefill, LaneKind::kDecode,    LaneKind::kHeld,   LaneKind::kIdle,
                                 LaneKind::kWaiting, LaneKind::kPreempted, LaneKind::kSetBack};
  const QFontMetrics metrics = painter.fontMetrics();
  const int side = std::max(9, metrics.ascent());
  int x = legend.left();
  for (const LaneKind kind : kKinds) {
    const QString words = laneKindWord(kind);
    const int width = side + 5 + metrics.horizontalAdvance(words);
    if (x + width > legend.right() + 1) return;
    const QRect place(x, legend.center().y() - side / 2 + 1, side, side);
    if (kind == LaneKind::kIdle) painter.fillRect(place, theme.well);
    paintLaneCell(painter, place, {.seq = core::SeqId{1}, .kind = kind}, false, theme);
    painter.setPen(theme.dim);
    painter.drawText(QRect(x + side + 5, legend.top(), width, legend.height()), Qt::AlignLeft | Qt::AlignVCenter,
                     words);
    x += width + 2 * kMargin;
  }
}

}  // namespace inferoscope::gui
