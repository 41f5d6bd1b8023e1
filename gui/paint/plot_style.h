// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/paint/theme.h"

#include <QFont>
#include <QString>
#include <QStringList>

#include <qcustomplot.h>

namespace inferoscope::gui {

// Ticks with a unit, written as people of the program's language write numbers: "1,000", "50%".
class UnitTicker : public QCPAxisTicker {
 public:
  UnitTicker(const QString& unit, int num_ticks) : m_unit(unit) { setTickCount(num_ticks); }  // about so many

 protected:
  QString getTickLabel(double tick, const QLocale& locale, QChar format, int precision) override;

 private:
  QString m_unit;
};

// Shares of one as percentages.
class ShareTicker : public QCPAxisTicker {
 public:
  explicit ShareTicker(int num_ticks) { setTickCount(num_ticks); }

 protected:
  QString getTickLabel(double tick, const QLocale& locale, QChar format, int precision) override;
};

// How many ticks to ask for along a length, so that labels of that size don't touch.
int tickCount(double length, double label, int most);
inline constexpr double kLineShare = 0.7;  // of a line's height: what a label takes of a vertical axis

// The first that fits, else the last.
QString fittingText(const QStringList& from_long_to_short, int room, const QFont& font);

// Words, not shown yet, for a place in pixels that a view finds for them.
QCPItemText* addWords(QCustomPlot& plot, const QString& layer);

// QCustomPlot ignores palettes: gives all axis rects, axes and titles of a plot the theme's colours and `font`.
// Call again on a change of palette or font; then give graphs and titles colours of their own.
void stylePlot(QCustomPlot& plot, const Theme& theme, const QFont& font);

}  // namespace inferoscope::gui
