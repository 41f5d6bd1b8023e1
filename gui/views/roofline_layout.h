// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/experiment.h"
#include "core/observe/roofline.h"

#include <QLineF>
#include <QPointF>
#include <QRectF>
#include <QSizeF>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace inferoscope::gui {

// Places on the roofline's axes: x in FLOPs a byte, y in FLOP/s.

// The last steps of each phase and kind of op, one point a step: where it came from.
class RooflineTrail {
 public:
  static constexpr std::size_t kLength = 24;  // with all kinds in both phases still under 500 points

  void clear();
  void add(const core::StepRecord& step);
  const std::deque<QPointF>& of(core::Phase phase, kernels::OpKind kind) const;

 private:
  using Kinds = std::array<std::deque<QPointF>, kernels::kNumOpKinds>;
  std::array<Kinds, 2> m_phases;
};

// A point of the roofline, of one lane of a comparison or of the only one.
struct LanePoint {
  core::LaneId lane{};
  core::RooflinePoint point;

  bool onChart() const { return point.onChart() && point.work.intensity().has_value(); }
  QPointF place() const { return {point.work.intensity().value_or(0), point.work.flopPerSecond().value_or(0)}; }
};
// From lane A to lane B: what the change of knobs did to each kind of op in each phase that both lanes have on the
// chart.
struct RooflineArrow {
  core::Phase phase{};
  kernels::OpKind kind{};
  QPointF from;
  QPointF to;
};
std::vector<RooflineArrow> arrowsOf(const std::vector<LanePoint>& points);

// An arrow in pixels, cut off where the discs at its ends begin; none where they meet or overlap.
std::optional<QLineF> betweenDiscs(const QPointF& from, double from_diameter, const QPointF& to, double to_diameter);

struct LogRange {
  double lower = 0.1;
  double upper = 1000;
  friend bool operator==(const LogRange&, const LogRange&) = default;
};
struct RooflineAxes {
  LogRange intensity;
  LogRange flop_per_s;
  friend bool operator==(const RooflineAxes&, const RooflineAxes&) = default;
};
// Whole decades with all points and, where they are measured, all ceilings in them.
RooflineAxes axesFor(const std::vector<LanePoint>& points, const core::MachineLimits& limits);

// The highest of the compute ceilings; 0 if none is measured.
double highestPeak(const core::MachineLimits& limits);

// The roof that two ceilings make, from one end of the axis to the other: up the slope, from the ridge on level.
std::vector<QPointF> roofCorners(double bytes_per_s, double flop_per_s, const LogRange& intensity);

// Pixels. The area of a disc is as the share of time; a little one is still a disc.
double discDiameter(double time_share);

struct PlotMark {
  QPointF centre;
  double diameter = 0;
  QSizeF words;  // of its label
};
// A place for each mark's label beside its disc, within the area, over no other disc, no other label and nothing that
// is taken. Null where there is none. Larger discs are served first.
std::vector<QRectF> placeLabels(const std::vector<PlotMark>& marks, const QRectF& area,
                                const std::vector<QRectF>& taken = {});

}  // namespace inferoscope::gui
