// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"

#include <bit>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace inferoscope::kernels::quant {

// The upper half of an f32: its range, with 8 bits of precision.
struct BF16 {
  static constexpr FormatId kId{30};
  static constexpr std::string_view kName = "bf16";
  static constexpr int kBlockElems = 1;
  using Block = std::uint16_t;

  static void encodeBlock(const float* values, Block& block) {
    const auto bits = std::bit_cast<std::uint32_t>(*values);
    const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;  // made quiet, so that cutting it off leaves a NaN
    const std::uint32_t rounded = is_nan ? bits | 0x400000U : bits + 0x7FFFU + ((bits >> 16) & 1U);
    block = static_cast<std::uint16_t>(rounded >> 16);
  }
  static void decodeBlock(const Block& block, float* values) {
    *values = std::bit_cast<float>(std::uint32_t{block} << 16);
  }

#if defined(__AVX2__)
  static __m256 load8(const Block* blocks) {
    const __m128i upper = _mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(upper), 16));
  }
#endif
};

}  // namespace inferoscope::kernels::quant
