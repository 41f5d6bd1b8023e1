// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/paint/plot_style.h"

#include "gui/paint/marks.h"

#include <qcustomplot.h>

namespace inferoscope::gui {

namespace {

void styleAxis(QCPAxis& axis, const Theme& theme, const QFont& font) {
  const QPen pen(theme.line);
  axis.setBasePen(pen);
  axis.setTickPen(pen);
  axis.setSubTickPen(pen);
  axis.setTickLabelColor(theme.dim);
  axis.setLabelColor(theme.dim);
  axis.setTickLabelFont(smallFont(font));
  axis.setLabelFont(smallFont(font));
  axis.grid()->setPen(QPen(theme.line, 0, Qt::DotLine));
  axis.grid()->setZeroLinePen(Qt::NoPen);
}

}  // namespace

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
