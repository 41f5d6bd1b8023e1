// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/paint/theme.h"
#include "gui/views/batch_lanes_layout.h"

#include <QPainter>

namespace inferoscope::gui {

// The lanes of one engine as they are painted.
struct LanesPicture {
  const LanesLayout& layout;
  const std::deque<LaneColumn>& columns;
  const core::Snapshot* snapshot = nullptr;  // for names
  core::SeqId shown;                         // chosen or under the mouse: the others fade
  const Theme& theme;
};

void paintStrips(QPainter& painter, const LanesPicture& picture);
void paintLanes(QPainter& painter, const LanesPicture& picture);
// What the strips are, and who is in each place of the batch in the last step that is seen.
void paintNames(QPainter& painter, const LanesPicture& picture);
void paintStepAxis(QPainter& painter, const LanesPicture& picture);
void paintTimeAxis(QPainter& painter, const TwoLanesLayout& layout, const Theme& theme);
void paintLanesLegend(QPainter& painter, const QRect& legend, const Theme& theme);

}  // namespace inferoscope::gui
