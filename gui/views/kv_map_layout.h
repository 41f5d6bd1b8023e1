// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/snapshot.h"

#include <QRect>
#include <QSize>

#include <cstdint>
#include <span>
#include <vector>

namespace inferoscope::gui {

// Blocks by state, and the token slots in them.
struct BlockCounts {
  std::int64_t free = 0;
  std::int64_t cached = 0;
  std::int64_t used = 0;        // held by one sequence
  std::int64_t shared = 0;      // held by several, counted once
  std::int64_t held_slots = 0;  // slots with a token, in used and shared blocks

  std::int64_t all() const { return free + cached + used + shared; }
  std::int64_t held() const { return used + shared; }
  std::int64_t count(core::BlockState state) const;
};
BlockCounts countBlocks(std::span<const core::BlockInfo> blocks);

// Where each block is, row by row. Three densities: cells of whole pixels with room for marks (cell >= kLeastCell),
// blocks of a few pixels scaled to fill the area, and several blocks to a pixel.
struct KvMapGrid {
  QRect area;  // what the blocks cover
  int num_blocks = 0;
  int columns = 0;
  int rows = 0;
  int cell = 0;              // side of a cell in pixels; 0: scaled
  int blocks_per_pixel = 1;  // more than one: a pixel shows the most telling of its blocks

  QRect cellRect(int block) const;         // of a block, never empty
  int blockAt(const QPoint& point) const;  // -1: none
  // So many columns right and rows down of a block, as far as there are any; the first one from none.
  int moved(int block, int right, int down) const;
};

inline constexpr int kLeastCell = 6;   // from here on whole cells with a gap
inline constexpr int kFillCell = 8;    // from here on with a fill level
inline constexpr int kLabelCell = 24;  // from here on with id and ref count
inline constexpr int kLargestCell = 56;

KvMapGrid gridFor(const QRect& area, int num_blocks);

// What a cell of a map stands for: a block, or an equal part of one, so that cells of two lanes are equally many token
// slots. A block that holds a whole context becomes a long strip of cells.
struct KvMapScale {
  int cell_slots = 0;
  int parts = 1;      // cells of a block
  int num_cells = 0;  // that have to find room: of the lane that has more
};
KvMapScale scaleOf(const core::Snapshot& lane, const core::Snapshot* other);  // null: alone, a cell is a block

// The blocks, each cut into so many parts. A part is as full as its own slots are.
std::vector<core::BlockInfo> cutBlocks(std::span<const core::BlockInfo> blocks, int cell_slots, int parts);

// The parts of the view.
struct KvMapLayout {
  QRect block_gauge;
  QRect slot_gauge;
  QRect map;  // room for the grid
  QRect legend;
};
KvMapLayout layoutKvMap(const QSize& size, int gauge_height, int line_height);

}  // namespace inferoscope::gui
