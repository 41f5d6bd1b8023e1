// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"
#include "kernels/half.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace inferoscope::kernels::quant {

struct F16 {
  static constexpr FormatId kId{1};
  static constexpr std::string_view kName = "f16";
  static constexpr int kBlockElems = 1;
  using Block = std::uint16_t;

  static void encodeBlock(const float* values, Block& block) { block = floatToHalf(*values); }
  static void decodeBlock(const Block& block, float* values) { *values = halfToFloat(block); }

#if defined(__AVX2__)
  static __m256 load8(const Block* blocks) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks)));
  }
#endif
};

}  // namespace inferoscope::kernels::quant
