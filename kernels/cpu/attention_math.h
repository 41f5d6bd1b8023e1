// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"

#include <cstddef>
#include <cstdint>

namespace inferoscope::kernels::cpu {

// Attention works on tiles of this many cached tokens. Tiles start at multiples of it whatever the block size, so that
// a query's sums are made in one order.
inline constexpr int kTileTokens = 32;

// The arithmetic under both attention kernels, in plain C++, AVX2 and AVX-512. `dim` and `num_scores` are multiples of
// 16; vectors are padded with zeros. What becomes of a row does not depend on the rows beside it.
struct AttentionMath {
  using Decode = void (*)(const std::byte* blocks, float* values, std::int64_t num_elems);

  // The same on vectors as they are stored, without a detour through memory, for the few rows of a decode step. `next`
  // are the vectors of the tile after this one, asked for on the way. Null for formats and dimensions that have none.
  struct Stored {
    void (*arrange)(const std::byte* const* keys, const std::byte* const* next, int dim,
                    std::byte* arranged);  // keys, next [kTileTokens], arranged kTileTokens * dim floats or less
    void (*scores)(const float* queries, int num_rows, const std::byte* arranged, int dim, float* scores);
    void (*accumulate)(const float* weights, int num_rows, const std::byte* const* values, const std::byte* const* next,
                       int num_tokens, int dim, float* out);  // values [num_tokens]
  };

  Decode (*decoder)(FormatId format);
  Stored (*stored)(FormatId format, int dim);
  // Lays keys out the way that `scores` reads them.
  void (*arrange)(const float* keys, int dim, float* arranged);  // both kTileTokens * dim
  // scores[row][i] = queries[row] * keys[i]
  void (*scores)(const float* queries, int num_rows, const float* arranged, int dim,
                 float* scores);  // queries [num_rows, dim], scores [num_rows, kTileTokens]
  float (*largest)(const float* scores, int num_scores);
  // scores[i] = exp(scores[i] - m), for -inf: 0; returns their sum.
  float (*expSum)(float* scores, int num_scores, float m);
  void (*scale)(float* values, int num_values, float factor);
  // out[row] += sum of weights[row][i] * values[i]
  void (*accumulate)(const float* weights, int num_rows, const float* values, int num_tokens, int dim,
                     float* out);  // weights [num_rows, kTileTokens], values [num_tokens, dim], out [num_rows, dim]
};

const AttentionMath& scalarAttentionMath();
const AttentionMath& avx2AttentionMath();
const AttentionMath& avx512AttentionMath();

}  // namespace inferoscope::kernels::cpu
