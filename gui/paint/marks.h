// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/paint/theme.h"

#include <QFont>
#include <QPainter>
#include <QString>

namespace inferoscope::gui {

// Small things that several views paint alike.

inline constexpr int kMargin = 8;   // around a view's content
inline constexpr int kSpacing = 6;  // between its parts

QFont smallFont(const QFont& font);

// In words why there is nothing to see, in the middle of `area`.
void paintEmptyState(QPainter& painter, const QRect& area, const QString& words, const Theme& theme);

// "A" on a ground of its lane's colour, at the left of `area`. Returns how wide it is.
int paintLaneTag(QPainter& painter, const QRect& area, const QString& letter, const QColor& color);

// A share of something: its name and "61 of 1,024 blocks" above a thin bar. Needs gaugeHeight().
struct Gauge {
  QString name;
  QString figure;
  double share = 0;  // 0..1
  QColor color;
};
int gaugeHeight(const QFontMetrics& metrics);
void paintGauge(QPainter& painter, const QRect& area, const Gauge& gauge, const Theme& theme);

}  // namespace inferoscope::gui
