// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/step_time_layout.h"

#include "gui/paint/marks.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

namespace inferoscope::gui {

namespace {

class StepTimeWords {
  Q_DECLARE_TR_FUNCTIONS(StepTimeWords)
};

constexpr double kLeastShare = 0.01;

QString text(std::string_view latin) {
  return QString::fromLatin1(latin.data(), static_cast<qsizetype>(latin.size()));
}

QString layerTitle(int layer, bool first) {
  if (layer >= 0) return StepTimeWords::tr("layer %1").arg(layer);
  return first ? StepTimeWords::tr("before the layers") : StepTimeWords::tr("after the layers");
}

std::vector<WorkNode> byLayer(const core::StepTime& time) {
  std::vector<WorkNode> nodes;
  for (const core::StepTime::OfLayer& layer : time.layers) {
    nodes.push_back({.title = layerTitle(layer.layer, nodes.empty()), .work = layer.work, .bound = layer.bound});
    for (const core::StepTime::OfOp& op : layer.ops) {
      nodes.back().children.push_back(
          {.title = text(op.name), .kernel = text(op.kernel), .work = op.work, .bound = op.bound});
    }
  }
  return nodes;
}

std::vector<WorkNode> byOp(const core::StepTime& time, const core::MachineLimits& limits) {
  std::vector<WorkNode> nodes;
  std::map<std::string_view, std::size_t> places;
  for (const core::StepTime::OfLayer& layer : time.layers) {
    for (const core::StepTime::OfOp& op : layer.ops) {
      const auto [place, fresh] = places.try_emplace(op.name, nodes.size());
      if (fresh) nodes.push_back({.title = text(op.name)});
      WorkNode& node = nodes[place->second];
      node.work += op.work;
      node.children.push_back({.title = layerTitle(layer.layer, &layer == &time.layers.front()),
                               .kernel = text(op.kernel),
                               .work = op.work,
                               .bound = op.bound});
    }
  }
  for (WorkNode& node : nodes) node.bound = core::boundOf(node.work, time.stays_in_cache, limits);
  return nodes;
}

WorkNode softwareNode(const QString& title, std::int64_t ns) {
  WorkNode node{.title = title, .software = true};
  node.work.measured_ns = ns;
  return node;
}

}  // namespace

std::vector<WaterfallPart> waterfallOf(const core::StepTime& time) {
  std::vector<WaterfallPart> parts;
  double at = 0;
  const auto add = [&](WaterfallPart part, double ns) {
    part.from_ns = at;
    part.to_ns = at += ns;
    parts.push_back(std::move(part));
  };
  if (time.ops.floor_ns > 0) add({.part = TimePart::kFloor, .work = time.ops}, time.ops.floor_ns);
  core::OpWork others;
  for (const core::StepTime::OfKind& of : time.kinds) {
    if (std::abs(of.work.excessNs()) < kLeastShare * static_cast<double>(time.measured_ns)) {
      others += of.work;
    } else {
      add({.part = TimePart::kExcess, .kind = of.kind, .work = of.work}, of.work.excessNs());
    }
  }
  if (others.num_ops > 0) add({.part = TimePart::kOtherExcess, .work = others}, others.excessNs());
  add({.part = TimePart::kBetweenOps}, static_cast<double>(time.between_ops_ns));
  add({.part = TimePart::kAroundOps}, static_cast<double>(time.around_ops_ns));
  parts.push_back({.part = TimePart::kMeasured, .work = time.ops, .to_ns = static_cast<double>(time.measured_ns)});
  return parts;
}

double longestNs(const std::vector<WaterfallPart>& parts) {
  double longest = 0;
  for (const WaterfallPart& part : parts) longest = std::max({longest, part.from_ns, part.to_ns});
  return longest;
}

std::vector<WaterfallRow> layoutWaterfall(const std::vector<WaterfallPart>& parts, const QRect& area, int row_height,
                                          int name_width, int figure_width, double scale_ns) {
  const double longest = std::max(longestNs(parts), scale_ns);
  const int left = area.left() + name_width + kSpacing;
  const int bar_space = std::max(0, area.width() - name_width - figure_width - 2 * kSpacing);
  const double scale = longest > 0 ? bar_space / longest : 0.0;
  std::vector<WaterfallRow> rows;
  int top = area.top();
  for (const WaterfallPart& part : parts) {
    const double from = std::min(part.from_ns, part.to_ns) * scale;
    const double to = std::max(part.from_ns, part.to_ns) * scale;
    rows.push_back({.name = QRect(area.left(), top, name_width, row_height),
                    .bar = QRectF(left + from, top + 2, std::max(1.0, to - from), row_height - 4),
                    .figure = QRect(left + bar_space + kSpacing, top, figure_width, row_height),
                    .whole = QRect(area.left(), top, area.width(), row_height)});
    top += row_height;
  }
  return rows;
}

int rowAt(const std::vector<WaterfallRow>& rows, const QPoint& point) {
  const auto found = std::ranges::find_if(rows, [&](const WaterfallRow& row) { return row.whole.contains(point); });
  return found == rows.end() ? -1 : static_cast<int>(found - rows.begin());
}

std::vector<WorkNode> workTree(const core::StepTime& time, WorkGrouping grouping, const core::MachineLimits& limits) {
  std::vector<WorkNode> nodes = grouping == WorkGrouping::kByLayer ? byLayer(time) : byOp(time, limits);
  WorkNode outside = softwareNode(StepTimeWords::tr("outside kernels"), time.softwareNs());
  outside.children = {softwareNode(StepTimeWords::tr("between ops"), time.between_ops_ns),
                      softwareNode(StepTimeWords::tr("schedule, sample"), time.around_ops_ns)};
  nodes.push_back(std::move(outside));
  return nodes;
}

}  // namespace inferoscope::gui
