// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/paint/theme.h"
#include "gui/views/batch_lanes_layout.h"

#include <QPainter>
#include <QString>

namespace inferoscope::gui {

inline constexpr int kGapFrom = 6;  // columns this wide are set apart

// One cell of a lane. Kinds differ in form, requests in colour: prefill fills its place (with its token count where
// that fits), decode is a bar, waiting a frame, preempted a cross.
void paintLaneCell(QPainter& painter, const QRect& place, const LaneCell& cell, bool faded, const Theme& theme);

QString laneKindWord(LaneKind kind);

}  // namespace inferoscope::gui
