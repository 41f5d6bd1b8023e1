// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/paint/marks.h"

#include <QFontMetrics>

#include <algorithm>
#include <cmath>

namespace inferoscope::gui {

namespace {
constexpr int kBarHeight = 5;
}

QFont smallFont(const QFont& font) {
  QFont small = font;
  small.setPointSizeF(std::max(6.5, font.pointSizeF() * 0.88));
  return small;
}

void paintEmptyState(QPainter& painter, const QRect& area, const QString& words, const Theme& theme) {
  painter.setPen(theme.dim);
  painter.drawText(area, Qt::AlignCenter | Qt::TextWordWrap, words);
}

int paintLaneTag(QPainter& painter, const QRect& area, const QString& letter, const QColor& color) {
  painter.save();
  QFont bold = painter.font();
  bold.setBold(true);
  painter.setFont(bold);
  const QFontMetrics metrics = painter.fontMetrics();
  const int side = std::max(metrics.height(), metrics.horizontalAdvance(letter) + 6);
  const QRect tag(area.left(), area.center().y() - metrics.height() / 2, side, metrics.height());
  painter.fillRect(tag, color);
  painter.setPen(contrast(Qt::white, color) > contrast(Qt::black, color) ? Qt::white : Qt::black);
  painter.drawText(tag, Qt::AlignCenter, letter);
  painter.restore();
  return side;
}

int gaugeHeight(const QFontMetrics& metrics) {
  return metrics.height() + 3 + kBarHeight;
}

void paintGauge(QPainter& painter, const QRect& area, const Gauge& gauge, const Theme& theme) {
  const QFontMetrics metrics = painter.fontMetrics();
  const QRect words(area.left(), area.top(), area.width(), metrics.height());
  const int figure_width = std::min(area.width(), metrics.horizontalAdvance(gauge.figure));
  const int name_width = area.width() - figure_width - kSpacing;
  painter.setPen(theme.text);
  painter.drawText(words, Qt::AlignRight | Qt::AlignVCenter,
                   metrics.elidedText(gauge.figure, Qt::ElideRight, words.width()));
  if (name_width >= metrics.horizontalAdvance(gauge.name)) {
    painter.setPen(theme.dim);
    painter.drawText(words, Qt::AlignLeft | Qt::AlignVCenter, gauge.name);
  }
  const QRect bar(area.left(), words.bottom() + 3, area.width(), kBarHeight);
  painter.fillRect(bar, theme.well);
  const double share = std::clamp(gauge.share, 0.0, 1.0);
  const int filled = share > 0 ? std::max(1, static_cast<int>(std::lround(bar.width() * share))) : 0;
  painter.fillRect(QRect(bar.topLeft(), QSize(filled, bar.height())), gauge.color);
}

}  // namespace inferoscope::gui
