// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/roofline_layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace inferoscope::gui {

namespace {

constexpr double kSmallestDisc = 7;
constexpr double kLargestDisc = 34;
constexpr double kLabelGap = 3;

// Decades around all values, positive ones only.
class Decades {
 public:
  void include(double value) {
    if (!(value > 0) || !std::isfinite(value)) return;
    m_lower = std::min(m_lower, value);
    m_upper = std::max(m_upper, value);
  }
  LogRange range(const LogRange& otherwise) const {
    if (m_upper <= 0) return otherwise;
    return {std::pow(10, std::floor(std::log10(m_lower))), std::pow(10, std::ceil(std::log10(m_upper)))};
  }

 private:
  double m_lower = INFINITY;
  double m_upper = 0;
};

QRectF discOf(const PlotMark& mark) {
  return {mark.centre.x() - mark.diameter / 2, mark.centre.y() - mark.diameter / 2, mark.diameter, mark.diameter};
}

// Right, left, above, below, then the corners.
std::array<QRectF, 8> candidates(const PlotMark& mark) {
  const double w = mark.words.width();
  const double h = mark.words.height();
  const double reach = mark.diameter / 2 + kLabelGap;
  const double slant = 0.7 * reach;
  const auto at = [&](double left, double top) { return QRectF(mark.centre + QPointF(left, top), mark.words); };
  return {at(reach, -h / 2),     at(-reach - w, -h / 2), at(-w / 2, -reach - h),     at(-w / 2, reach),
          at(slant, -slant - h), at(slant, slant),       at(-slant - w, -slant - h), at(-slant - w, slant)};
}

}  // namespace

void RooflineTrail::clear() {
  m_phases = {};
}

void RooflineTrail::add(const core::StepRecord& step) {
  const std::shared_ptr<const core::StepRecord> borrowed(std::shared_ptr<void>(), &step);
  for (const core::RooflinePoint& point : core::rooflinePoints({&borrowed, 1}, {})) {
    if (!point.onChart() || !point.work.intensity()) continue;
    std::deque<QPointF>& trail = m_phases[static_cast<std::size_t>(point.phase)][static_cast<std::size_t>(point.kind)];
    trail.emplace_back(*point.work.intensity(), *point.work.flopPerSecond());
    if (trail.size() > kLength) trail.pop_front();
  }
}

const std::deque<QPointF>& RooflineTrail::of(core::Phase phase, kernels::OpKind kind) const {
  return m_phases[static_cast<std::size_t>(phase)][static_cast<std::size_t>(kind)];
}

std::vector<RooflineArrow> arrowsOf(const std::vector<LanePoint>& points) {
  std::vector<RooflineArrow> arrows;
  for (const LanePoint& a : points) {
    if (a.lane != core::LaneId::kA || !a.onChart()) continue;
    const auto b = std::ranges::find_if(points, [&](const LanePoint& other) {
      return other.lane == core::LaneId::kB && other.onChart() && other.point.phase == a.point.phase &&
             other.point.kind == a.point.kind;
    });
    if (b != points.end()) arrows.push_back({a.point.phase, a.point.kind, a.place(), b->place()});
  }
  return arrows;
}

std::optional<QLineF> betweenDiscs(const QPointF& from, double from_diameter, const QPointF& to, double to_diameter) {
  const QLineF whole(from, to);
  const double left = whole.length() - (from_diameter + to_diameter) / 2;
  if (left <= 0) return std::nullopt;
  return QLineF(whole.pointAt(from_diameter / 2 / whole.length()), whole.pointAt(1 - to_diameter / 2 / whole.length()));
}

double highestPeak(const core::MachineLimits& limits) {
  return limits.measured() ? std::max(limits.floatPeak(), limits.intPeak()) : 0;
}

RooflineAxes axesFor(const std::vector<LanePoint>& points, const core::MachineLimits& limits) {
  Decades x, y;
  for (const LanePoint& point : points) {
    if (!point.onChart()) continue;
    x.include(point.place().x());
    y.include(point.place().y());
  }
  if (limits.measured()) {
    x.include(2 * core::ridge(limits.read_bytes_per_s, highestPeak(limits)));
    y.include(1.5 * highestPeak(limits));  // room for its words
  }
  return {x.range({}), y.range({1e9, 1e12})};
}

std::vector<QPointF> roofCorners(double bytes_per_s, double flop_per_s, const LogRange& intensity) {
  const auto at = [&](double x) { return QPointF(x, core::attainable(x, bytes_per_s, flop_per_s)); };
  const double corner = core::ridge(bytes_per_s, flop_per_s);
  if (corner <= intensity.lower || corner >= intensity.upper) return {at(intensity.lower), at(intensity.upper)};
  return {at(intensity.lower), at(corner), at(intensity.upper)};
}

double discDiameter(double time_share) {
  return std::max(kSmallestDisc, kLargestDisc * std::sqrt(std::clamp(time_share, 0.0, 1.0)));
}

std::vector<QRectF> placeLabels(const std::vector<PlotMark>& marks, const QRectF& area,
                                const std::vector<QRectF>& taken) {
  std::vector<std::size_t> order(marks.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return marks[i].diameter; });
  std::vector<QRectF> places(marks.size());
  for (const std::size_t i : order) {
    const auto isFree = [&](const QRectF& place) {
      if (!area.contains(place)) return false;
      if (std::ranges::any_of(taken, [&](const QRectF& other) { return place.intersects(other); })) return false;
      for (std::size_t other = 0; other < marks.size(); ++other) {
        if (other != i && place.intersects(discOf(marks[other]))) return false;
        if (place.intersects(places[other])) return false;
      }
      return true;
    };
    const auto wanted = candidates(marks[i]);
    const auto* found = std::ranges::find_if(wanted, isFree);
    if (found != wanted.end()) places[i] = *found;
  }
  return places;
}

}  // namespace inferoscope::gui
