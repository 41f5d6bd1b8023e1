// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/lane_marks.h"

#include <QCoreApplication>
#include <QFontMetrics>

#include <algorithm>

namespace inferoscope::gui {

namespace {

class LaneMarks {
  Q_DECLARE_TR_FUNCTIONS(LaneMarks)
};

void paintPrefill(QPainter& painter, const QRect& place, const LaneCell& cell, const QColor& color,
                  const QColor& drawing) {
  painter.fillRect(place, color);
  if (ownerPattern(cell.seq) != Pattern::kSolid) {
    const auto style = ownerPattern(cell.seq) == Pattern::kStripes ? Qt::BDiagPattern : Qt::Dense6Pattern;
    painter.fillRect(place, QBrush(drawing, style));
  }
  const QString tokens = QString::number(cell.num_tokens);
  const QFontMetrics metrics = painter.fontMetrics();
  const bool fits = metrics.horizontalAdvance(tokens) + 2 <= place.width() && metrics.ascent() <= place.height();
  if (cell.num_tokens == 0 || !fits) return;
  if (ownerPattern(cell.seq) != Pattern::kSolid) painter.fillRect(place.adjusted(1, 2, -1, -2), color);
  painter.setPen(readable(color, color));
  painter.drawText(place, Qt::AlignCenter, tokens);
}

void paintDecode(QPainter& painter, const QRect& place, const LaneCell& cell, const QColor& color) {
  const int inset = place.height() / 4;
  painter.fillRect(place.adjusted(0, inset, 0, -inset), color);
  if (cell.finished) painter.fillRect(place.right() - 1, place.top(), 2, place.height(), color);
}

void paintCross(QPainter& painter, const QRect& place, const QColor& color) {
  painter.setPen(QPen(color, 1));
  const int half = std::max(1, std::min(place.width(), place.height()) / 2 - 2);
  const QPoint middle = place.center();
  painter.drawLine(middle - QPoint(half, half), middle + QPoint(half, half));
  painter.drawLine(middle - QPoint(half, -half), middle + QPoint(half, -half));
}

// A frame that joins its neighbours: only its upper and lower edge.
void paintFrame(QPainter& painter, const QRect& place, const QColor& color) {
  const int inset = place.height() / 4;
  if (place.height() < 6) {
    painter.fillRect(place.left(), place.center().y(), place.width(), 1, color);
    return;
  }
  painter.fillRect(place.left(), place.top() + inset, place.width(), 1, color);
  painter.fillRect(place.left(), place.bottom() - inset, place.width(), 1, color);
}

}  // namespace

void paintLaneCell(QPainter& painter, const QRect& place, const LaneCell& cell, bool faded, const Theme& theme) {
  const double fading = faded ? 0.62 : 0;
  const QColor color = mix(ownerColor(cell.seq, theme), theme.surface, fading);
  const QColor drawing = mix(patternColor(cell.seq, theme), theme.surface, fading);
  const QRect inner = place.width() >= kGapFrom ? place.adjusted(0, 0, -1, 0) : place;
  switch (cell.kind) {
    case LaneKind::kIdle:
      break;
    case LaneKind::kPrefill:
      paintPrefill(painter, inner, cell, color, drawing);
      break;
    case LaneKind::kDecode:
      paintDecode(painter, inner, cell, color);
      break;
    case LaneKind::kHeld:
      painter.fillRect(inner.left(), inner.center().y(), inner.width(), 1, color);
      break;
    case LaneKind::kPreempted:
      paintCross(painter, inner, color);
      break;
    case LaneKind::kWaiting:
      paintFrame(painter, place, color);
      break;
    case LaneKind::kSetBack:
      paintFrame(painter, place, color);
      paintCross(painter, inner, color);
      break;
  }
}

QString laneKindWord(LaneKind kind) {
  switch (kind) {
    case LaneKind::kIdle:
      return LaneMarks::tr("idle");
    case LaneKind::kPrefill:
      return LaneMarks::tr("prefill");
    case LaneKind::kDecode:
      return LaneMarks::tr("decode");
    case LaneKind::kHeld:
      return LaneMarks::tr("held");
    case LaneKind::kPreempted:
      return LaneMarks::tr("preempted");
    case LaneKind::kWaiting:
      return LaneMarks::tr("waiting");
    case LaneKind::kSetBack:
      return LaneMarks::tr("set back");
  }
  return {};
}

}  // namespace inferoscope::gui
