// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"

#include <cstddef>
#include <cstdint>

namespace inferoscope::kernels::cpu {

// Some rows of a matrix times all tokens. Each output is one sum over the columns in one order, whatever rows and
// tokens it is computed beside.
struct LinearPanel {
  const std::byte* w;  // [num_rows, num_cols] in the format
  int num_rows;
  int num_cols;
  const std::byte* x;    // [num_tokens] rows of floats, or made by quantizeRowAvx2
  std::int64_t x_bytes;  // of a row of x
  int num_tokens;
  float* out;               // [num_tokens, out_stride]: the first num_rows of each row are written
  std::int64_t out_stride;  // elements
};

struct LinearAvx2 {
  void (*run)(const LinearPanel&) = nullptr;  // null: no AVX2 code for this format
  bool quantizes_x = false;                   // x must be made by quantizeRowAvx2
};
LinearAvx2 linearAvx2For(FormatId format);

// A row of activations as the integer dots take it; num_cols is a multiple of 32.
std::int64_t quantizedRowBytes(int num_cols);                        // a multiple of 64
void quantizeRowAvx2(const float* x, int num_cols, std::byte* out);  // x [num_cols]

}  // namespace inferoscope::kernels::cpu
