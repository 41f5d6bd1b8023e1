// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/step_time.h"

#include <QRect>
#include <QString>

#include <vector>

namespace inferoscope::gui {

// The waterfall of a step: from its floor, over what each kind of op took above its own, and the software around the
// ops, to the measured time. Each part begins where the one before it ended.
enum class TimePart : std::uint8_t { kFloor, kExcess, kOtherExcess, kBetweenOps, kAroundOps, kMeasured };
struct WaterfallPart {
  TimePart part{};
  kernels::OpKind kind{};  // of kExcess
  core::OpWork work = {};  // that it is made of; none for software
  double from_ns = 0;
  double to_ns = 0;  // below from_ns where ops were faster than memory

  double ns() const { return to_ns - from_ns; }
};
// Kinds under a hundredth of the step are one part together. Without measured ceilings there is no floor, and all of
// the ops' time stands above it.
std::vector<WaterfallPart> waterfallOf(const core::StepTime& time);

double longestNs(const std::vector<WaterfallPart>& parts);

// Where the parts are painted, one a row: a name, a bar on the common scale, a figure. The bars' room is `scale_ns`, or
// as much as they need.
struct WaterfallRow {
  QRect name;
  QRectF bar;
  QRect figure;
  QRect whole;
};
std::vector<WaterfallRow> layoutWaterfall(const std::vector<WaterfallPart>& parts, const QRect& area, int row_height,
                                          int name_width, int figure_width, double scale_ns = 0);
int rowAt(const std::vector<WaterfallRow>& rows, const QPoint& point);  // -1: none

// The ops of a step as a tree of two levels.
enum class WorkGrouping : std::uint8_t { kByLayer, kByOp };
struct WorkNode {
  QString title = {};
  QString kernel = {};  // of a single op
  bool software = false;
  core::OpWork work = {};  // of software only the time
  core::Bound bound = core::Bound::kUnknown;
  std::vector<WorkNode> children = {};
};
// The last node is the time outside the ops.
std::vector<WorkNode> workTree(const core::StepTime& time, WorkGrouping grouping, const core::MachineLimits& limits);

}  // namespace inferoscope::gui
