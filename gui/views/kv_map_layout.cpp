// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/kv_map_layout.h"

#include "gui/paint/marks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace inferoscope::gui {

namespace {

constexpr int kSideBySide = 420;  // from this width on the gauges share a line

// The largest whole cell of which num_blocks fit into the area.
int wholeCell(const QRect& area, int num_blocks) {
  int cell = std::min({kLargestCell, area.width(), area.height()});
  while (cell >= kLeastCell && (area.width() / cell) * (area.height() / cell) < num_blocks) --cell;
  return cell;
}

int divideUp(int a, int b) {
  return (a + b - 1) / b;
}

// Edge `index` of `count` equal parts of `length`.
int edge(int index, int count, int length) {
  return static_cast<int>(static_cast<std::int64_t>(index) * length / count);
}

}  // namespace

std::int64_t BlockCounts::count(core::BlockState state) const {
  switch (state) {
    case core::BlockState::kFree:
      return free;
    case core::BlockState::kCached:
      return cached;
    case core::BlockState::kUsed:
      return used;
    case core::BlockState::kShared:
      return shared;
  }
  return 0;
}

BlockCounts countBlocks(std::span<const core::BlockInfo> blocks) {
  BlockCounts counts;
  for (const core::BlockInfo& block : blocks) {
    switch (block.state) {
      case core::BlockState::kFree:
        ++counts.free;
        break;
      case core::BlockState::kCached:
        ++counts.cached;
        break;
      case core::BlockState::kUsed:
        ++counts.used;
        counts.held_slots += block.num_tokens;
        break;
      case core::BlockState::kShared:
        ++counts.shared;
        counts.held_slots += block.num_tokens;
        break;
    }
  }
  return counts;
}

KvMapGrid gridFor(const QRect& area, int num_blocks) {
  KvMapGrid grid{.area = area, .num_blocks = num_blocks};
  if (num_blocks <= 0 || area.width() <= 0 || area.height() <= 0) return KvMapGrid{};
  if (const int cell = wholeCell(area, num_blocks); cell >= kLeastCell) {
    grid.cell = cell;
    grid.columns = area.width() / cell;
    grid.rows = divideUp(num_blocks, grid.columns);
    grid.area = QRect(area.topLeft(), QSize(grid.columns * cell, grid.rows * cell));
    return grid;
  }
  const std::int64_t pixels = static_cast<std::int64_t>(area.width()) * area.height();
  if (pixels <= num_blocks) {
    grid.blocks_per_pixel = static_cast<int>((num_blocks + pixels - 1) / pixels);
    grid.columns = area.width();
    grid.rows = divideUp(divideUp(num_blocks, grid.blocks_per_pixel), grid.columns);
    grid.area.setHeight(grid.rows);
    return grid;
  }
  const double side = std::sqrt(static_cast<double>(pixels) / num_blocks);
  grid.columns = std::clamp(static_cast<int>(std::ceil(area.width() / side)), 1, area.width());
  grid.rows = divideUp(num_blocks, grid.columns);
  if (grid.rows > area.height()) {
    grid.rows = area.height();
    grid.columns = divideUp(num_blocks, grid.rows);
  }
  return grid;
}

QRect KvMapGrid::cellRect(int block) const {
  const int place = block / blocks_per_pixel;
  const int column = place % columns;
  const int row = place / columns;
  const QPoint from(edge(column, columns, area.width()), edge(row, rows, area.height()));
  const QPoint to(edge(column + 1, columns, area.width()), edge(row + 1, rows, area.height()));
  return QRect(area.topLeft() + from, QSize(std::max(1, to.x() - from.x()), std::max(1, to.y() - from.y())));
}

int KvMapGrid::blockAt(const QPoint& point) const {
  if (columns == 0 || !area.contains(point)) return -1;
  // The edges are rounded down, so the place that holds a pixel is found from the pixel's far side.
  const auto index = [](int offset, int count, int length) {
    return static_cast<int>((static_cast<std::int64_t>(offset + 1) * count - 1) / length);
  };
  const int column = index(point.x() - area.left(), columns, area.width());
  const int row = index(point.y() - area.top(), rows, area.height());
  const std::int64_t block = (static_cast<std::int64_t>(row) * columns + column) * blocks_per_pixel;
  return block < num_blocks ? static_cast<int>(block) : -1;
}

int KvMapGrid::moved(int block, int right, int down) const {
  if (block < 0 || block >= num_blocks) return num_blocks > 0 ? 0 : -1;
  const int there = block + (right + down * columns) * blocks_per_pixel;
  return there >= 0 && there < num_blocks ? there : block;
}

KvMapScale scaleOf(const core::Snapshot& lane, const core::Snapshot* other) {
  const auto cellsOf = [](const core::Snapshot& of, int cell_slots) {
    return static_cast<int>(std::ssize(of.blocks)) * (of.block_size / cell_slots);
  };
  if (lane.block_size <= 0) return {};
  KvMapScale scale{.cell_slots = lane.block_size, .num_cells = static_cast<int>(std::ssize(lane.blocks))};
  if (other == nullptr || other->block_size <= 0) return scale;
  scale.cell_slots = std::gcd(lane.block_size, other->block_size);
  scale.parts = lane.block_size / scale.cell_slots;
  scale.num_cells = std::max(cellsOf(lane, scale.cell_slots), cellsOf(*other, scale.cell_slots));
  return scale;
}

std::vector<core::BlockInfo> cutBlocks(std::span<const core::BlockInfo> blocks, int cell_slots, int parts) {
  std::vector<core::BlockInfo> cells;
  cells.reserve(blocks.size() * static_cast<std::size_t>(parts));
  for (const core::BlockInfo& block : blocks) {
    for (int i = 0; i < parts; ++i) {
      cells.push_back(block);
      cells.back().num_tokens = std::clamp(block.num_tokens - i * cell_slots, 0, cell_slots);
    }
  }
  return cells;
}

KvMapLayout layoutKvMap(const QSize& size, int gauge_height, int line_height) {
  const QRect inner = QRect(QPoint(), size).adjusted(kMargin, kMargin, -kMargin, -kMargin);
  KvMapLayout layout;
  int top = inner.top();
  if (inner.width() >= kSideBySide) {
    const int half = (inner.width() - 3 * kSpacing) / 2;
    layout.block_gauge = QRect(inner.left(), top, half, gauge_height);
    layout.slot_gauge = QRect(inner.right() + 1 - half, top, half, gauge_height);
    top += gauge_height + kSpacing;
  } else {
    layout.block_gauge = QRect(inner.left(), top, inner.width(), gauge_height);
    layout.slot_gauge = layout.block_gauge.translated(0, gauge_height + kSpacing);
    top += 2 * (gauge_height + kSpacing);
  }
  layout.legend = QRect(inner.left(), inner.bottom() + 1 - line_height, inner.width(), line_height);
  layout.map = QRect(QPoint(inner.left(), top + 2), QPoint(inner.right(), layout.legend.top() - kSpacing - 1));
  return layout;
}

}  // namespace inferoscope::gui
