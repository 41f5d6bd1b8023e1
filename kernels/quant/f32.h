// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace inferoscope::kernels::quant {

struct F32 {
  static constexpr FormatId kId{0};
  static constexpr std::string_view kName = "f32";
  static constexpr int kBlockElems = 1;
  using Block = float;

  static void encodeBlock(const float* values, Block& block) { block = *values; }
  static void decodeBlock(const Block& block, float* values) { *values = block; }

#if defined(__AVX2__)
  static __m256 load8(const Block* blocks) {
    return _mm256_loadu_ps(blocks);
  }
#endif
};

}  // namespace inferoscope::kernels::quant
