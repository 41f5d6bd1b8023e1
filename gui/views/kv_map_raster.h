// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/snapshot.h"
#include "gui/paint/theme.h"
#include "gui/views/kv_map_layout.h"

#include <QImage>

#include <span>

namespace inferoscope::gui {

// The blocks as a picture of grid.area: pixels written by rows, since a rectangle call per block takes 200 ms for a
// million. States differ in form as well as colour where there is room: free is an empty well, cached a hollow frame,
// used fills from below by its tokens and without any is but two rails, shared has a notched corner besides.
// Blocks of other owners than `shown` fade, if it holds any.
QImage rasterBlocks(const KvMapGrid& grid, std::span<const core::BlockInfo> blocks, int block_size, core::SeqId shown,
                    const Theme& theme);

// One cell of a legend, in the same hand.
QImage rasterSample(const core::BlockInfo& block, int block_size, int side, const Theme& theme);

}  // namespace inferoscope::gui
