// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/ops.h"

#include <cstddef>
#include <cstdint>

namespace inferoscope::kernels {

// Layout::kInterleaved. A matrix is cut into groups of 32 rows; those missing in the last group are zeros. A group
// holds, block column by block column, the blocks of its rows with their fields side by side, so that a vector takes
// one field of many rows, and a stream through a group is a stream through memory:
//   the leading halves of a block (Format::head_halves):  [halves][32 rows] of 2 bytes
//   its words:                                            [2 halves of the rows][words][16 rows] of 4 bytes
//   a half that is left over at its end:                  [32 rows] of 2 bytes
// Without padding rows it takes as many bytes as the rows do.
inline constexpr int kGroupRows = 32;
inline constexpr int kHalfGroupRows = 16;

int numGroups(const WeightMatrix& w);
std::int64_t groupBytes(const WeightMatrix& w);
std::int64_t layoutBytes(const WeightMatrix& w);  // of the whole matrix in its layout

// rows: num_rows <= 32 rows one after the other; group: groupBytes(w).
void interleaveGroup(const WeightMatrix& w, const std::byte* rows, int num_rows, std::byte* group);

// Row `row` of the matrix in whatever layout, as files hold it.
void copyRow(const WeightMatrix& w, int row, std::byte* to);  // [num_cols] in the format

}  // namespace inferoscope::kernels
