// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"

#include <cstddef>
#include <cstdint>

namespace inferoscope::kernels::cpu {

// Attention works on tiles of this many cached tokens. Tiles start at multiples of it whatever the block size, so that
// a query's sums are made in one order.
inline constexpr int kTileTokens = 32;

// The arithmetic under both attention kernels, once in plain C++ and once in AVX2. `dim` and `num_scores` are multiples
// of 8; vectors are padded with zeros.
struct AttentionMath {
  using Decode = void (*)(const std::byte* blocks, float* values, std::int64_t num_elems);

  Decode (*decoder)(FormatId format);
  // scores[i] = q * keys[i]
  void (*dots)(const float* q, const float* keys, int dim, float* scores);  // keys [kTileTokens, dim]
  float (*largest)(const float* scores, int num_scores);
  // scores[i] = exp(scores[i] - m), for -inf: 0; returns their sum.
  float (*expSum)(float* scores, int num_scores, float m);
  void (*scale)(float* values, int num_values, float factor);
  // out += sum of weights[i] * values[i]
  void (*accumulate)(const float* weights, const float* values, int num_tokens, int dim,
                     float* out);  // values [num_tokens, dim]
};

const AttentionMath& scalarAttentionMath();
const AttentionMath& avx2AttentionMath();

}  // namespace inferoscope::kernels::cpu
