// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"

#include <cstddef>
#include <cstdint>

namespace inferoscope::kernels::cpu {

// Some groups of interleaved rows times all tokens. Each output is one sum over the columns in one order, whatever rows
// and tokens it is computed beside.
struct GroupPanel {
  const std::byte* groups;  // interleaved
  std::int64_t group_bytes;
  int num_rows;  // to write: the last group may be part padding
  int num_cols;
  const std::byte* x;  // packed tiles
  std::int64_t x_token_bytes;
  int num_tokens;
  float* out;               // [num_tokens, out_stride]: the first num_rows of each row are written
  std::int64_t out_stride;  // elements
};

// The code of one instruction set for one format. Tokens are packed in tiles, as many as the registers hold sums of.
struct GroupLinear {
  void (*run)(const GroupPanel&) = nullptr;  // null: there is none
  // Packs the tile that begins at the first of num_tokens rows of x; returns how many it took.
  int (*packTile)(const float* x, int num_tokens, int num_cols, std::byte* to) = nullptr;
  int most_tokens = 0;             // in a tile
  std::int64_t block_token_bytes;  // packed bytes of a token for each `block_cols` columns
  int block_cols;
  bool dots_bytes = false;
};

GroupLinear groupLinearAvx2(FormatId format);
GroupLinear groupLinearAvxVnni(FormatId format);
GroupLinear groupLinearAvx512(FormatId format);

}  // namespace inferoscope::kernels::cpu
