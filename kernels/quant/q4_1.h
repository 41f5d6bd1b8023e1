// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"
#include "kernels/half.h"
#include "kernels/quant/quants.h"
#include "kernels/quant/round.h"
#include "kernels/quant/value_range.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace inferoscope::kernels::quant {

// 32 numbers of 4 bits, a scale and a minimum: value = d * q + m.
struct Q4_1 {
  static constexpr FormatId kId{3};
  static constexpr std::string_view kName = "q4_1";
  static constexpr int kBlockElems = 32;
  static constexpr int kHeadHalves = 2;
  static constexpr Quants kQuants = {.bits = 4, .zero = 0, .has_min = true};
  struct Block {
    std::uint16_t d;     // half
    std::uint16_t m;     // half
    std::uint8_t q[16];  // low four bits: elements 0..15, high: 16..31
  };
  static_assert(sizeof(Block) == 20);

  static void encodeBlock(const float* values, Block& block) {
    const auto [least, most] = ValueRange::of(values, kBlockElems);
    const float d = (most - least) / 15.0F;
    const float inverse = d != 0.0F ? 1.0F / d : 0.0F;
    block.d = floatToHalf(d);
    block.m = floatToHalf(least);
    for (int i = 0; i < 16; ++i) {
      const int low = truncateTo((values[i] - least) * inverse + 0.5F, 0, 15);
      const int high = truncateTo((values[i + 16] - least) * inverse + 0.5F, 0, 15);
      block.q[i] = static_cast<std::uint8_t>(low | (high << 4));
    }
  }

  static void decodeBlock(const Block& block, float* values) {
    const float d = halfToFloat(block.d);
    const float m = halfToFloat(block.m);
    for (int i = 0; i < 16; ++i) {
      values[i] = d * static_cast<float>(block.q[i] & 15) + m;
      values[i + 16] = d * static_cast<float>(block.q[i] >> 4) + m;
    }
  }

#if defined(__AVX2__)
  static constexpr bool kSignedBytes = false;
  static __m256i loadBytes(const Block& block) {
    const __m128i pairs = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block.q));
    return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(pairs, 4), pairs), _mm256_set1_epi8(15));
  }
  static __m128 loadScaleAndMin(const Block& block) {
    int both;
    __builtin_memcpy(&both, &block, sizeof(both));
    return _mm_cvtph_ps(_mm_cvtsi32_si128(both));
  }
#endif
};

}  // namespace inferoscope::kernels::quant
