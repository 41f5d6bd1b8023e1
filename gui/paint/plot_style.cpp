// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/paint/plot_style.h"

#include "gui/paint/marks.h"
#include "gui/paint/number_format.h"

#include <algorithm>

namespace inferoscope::gui {

namespace {

void styleAxis(QCPAxis& axis, const Theme& theme, const QFont& font) {
  const QPen pen(theme.line);
  axis.setBasePen(pen);
  axis.setTickPen(pen);
  axis.setSubTicks(false);
  axis.setTickLabelColor(theme.dim);
  axis.setLabelColor(theme.dim);
  axis.setTickLabelFont(smallFont(font));
  axis.setLabelFont(smallFont(font));
  axis.grid()->setPen(QPen(theme.well, 0));
  axis.grid()->setZeroLinePen(Qt::NoPen);
}

}  // namespace

QString UnitTicker::getTickLabel(double tick, const QLocale&, QChar, int) {
  return displayLocale().toString(tick, 'g', 6) + m_unit;
}

QString ShareTicker::getTickLabel(double tick, const QLocale&, QChar, int) {
  return displayLocale().toString(tick * 100, 'g', 6) + QStringLiteral("%");
}

// Ticks stand at round values: there may be half as many again as asked for.
int tickCount(double length, double label, int most) {
  return std::clamp(static_cast<int>(length / (1.8 * label)), 1, most);
}

QString fittingText(const QStringList& from_long_to_short, int room, const QFont& font) {
  const QFontMetrics metrics(font);
  for (const QString& text : from_long_to_short) {
    if (metrics.horizontalAdvance(text) <= room) return text;
  }
  return from_long_to_short.isEmpty() ? QString() : from_long_to_short.back();
}

QCPItemText* addWords(QCustomPlot& plot, const QString& layer) {
  auto* words = new QCPItemText(&plot);
  words->position->setType(QCPItemPosition::ptAbsolute);
  words->setLayer(layer);
  words->setClipToAxisRect(true);
  words->setSelectable(false);
  words->setVisible(false);
  return words;
}

void stylePlot(QCustomPlot& plot, const Theme& theme, const QFont& font) {
  plot.setBackground(theme.surface);
  for (QCPAxisRect* rect : plot.axisRects()) {
    for (QCPAxis* axis : rect->axes()) styleAxis(*axis, theme, font);
  }
  for (QCPLayoutElement* element : plot.plotLayout()->elements(true)) {
    auto* title = qobject_cast<QCPTextElement*>(element);
    if (title == nullptr) continue;
    title->setTextColor(theme.text);
    title->setFont(font);
  }
}

}  // namespace inferoscope::gui
