// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/paint/theme.h"

#include <QFont>

class QCustomPlot;

namespace inferoscope::gui {

// QCustomPlot ignores palettes: gives all axis rects, axes and titles of a plot the theme's colours and `font`.
// Call again on a change of palette or font. Graphs keep the colours their view gave them.
void stylePlot(QCustomPlot& plot, const Theme& theme, const QFont& font);

}  // namespace inferoscope::gui
