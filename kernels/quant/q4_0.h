// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"
#include "kernels/half.h"
#include "kernels/quant/quants.h"
#include "kernels/quant/round.h"

#include <cmath>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace inferoscope::kernels::quant {

// 32 numbers of 4 bits and a scale: value = d * (q - 8).
struct Q4_0 {
  static constexpr FormatId kId{2};
  static constexpr std::string_view kName = "q4_0";
  static constexpr int kBlockElems = 32;
  static constexpr int kHeadHalves = 1;
  static constexpr Quants kQuants = {.bits = 4, .zero = 8, .has_min = false};
  struct Block {
    std::uint16_t d;     // half
    std::uint8_t q[16];  // low four bits: elements 0..15, high: 16..31
  };
  static_assert(sizeof(Block) == 18);

  // The value farthest from zero becomes q = 0, that is -8 steps: the end of the range that reaches farther.
  static void encodeBlock(const float* values, Block& block) {
    float farthest = 0.0F;
    for (int i = 0; i < kBlockElems; ++i) {
      if (std::fabs(values[i]) > std::fabs(farthest)) farthest = values[i];
    }
    const float d = farthest / -8.0F;
    const float inverse = d != 0.0F ? 1.0F / d : 0.0F;
    block.d = floatToHalf(d);
    for (int i = 0; i < 16; ++i) {
      const int low = truncateTo(values[i] * inverse + 8.5F, 0, 15);
      const int high = truncateTo(values[i + 16] * inverse + 8.5F, 0, 15);
      block.q[i] = static_cast<std::uint8_t>(low | (high << 4));
    }
  }

  static void decodeBlock(const Block& block, float* values) {
    const float d = halfToFloat(block.d);
    for (int i = 0; i < 16; ++i) {
      values[i] = d * static_cast<float>((block.q[i] & 15) - 8);
      values[i + 16] = d * static_cast<float>((block.q[i] >> 4) - 8);
    }
  }

#if defined(__AVX2__)
  static constexpr bool kSignedBytes = false;  // d * q + (-8 d)
  static __m256i loadBytes(const Block& block) {
    const __m128i pairs = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block.q));
    return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(pairs, 4), pairs), _mm256_set1_epi8(15));
  }
  static __m128 loadScaleAndMin(const Block& block) {
    const __m128 d = _mm_cvtph_ps(_mm_cvtsi32_si128(block.d));
    return _mm_mul_ps(_mm_moveldup_ps(d), _mm_setr_ps(1.0F, -8.0F, 0.0F, 0.0F));
  }
#endif
};

}  // namespace inferoscope::kernels::quant
