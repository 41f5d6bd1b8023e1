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

// 32 signed bytes and a scale: value = d * q.
struct Q8_0 {
  static constexpr FormatId kId{8};
  static constexpr std::string_view kName = "q8_0";
  static constexpr int kBlockElems = 32;
  static constexpr int kHeadHalves = 1;
  static constexpr Quants kQuants = {.bits = 8, .zero = 0, .has_min = false};
  struct Block {
    std::uint16_t d;  // half
    std::int8_t q[32];
  };
  static_assert(sizeof(Block) == 34);

  static void encodeBlock(const float* values, Block& block) {
    float largest = 0.0F;
    for (int i = 0; i < kBlockElems; ++i) largest = std::fmax(largest, std::fabs(values[i]));
    const float d = largest / 127.0F;
    const float inverse = d != 0.0F ? 1.0F / d : 0.0F;
    block.d = floatToHalf(d);
    for (int i = 0; i < kBlockElems; ++i) {
      block.q[i] = static_cast<std::int8_t>(truncateTo(std::round(values[i] * inverse), -127, 127));
    }
  }

  static void decodeBlock(const Block& block, float* values) {
    const float d = halfToFloat(block.d);
    for (int i = 0; i < kBlockElems; ++i) values[i] = d * static_cast<float>(block.q[i]);
  }

#if defined(__AVX2__)
  static constexpr bool kSignedBytes = true;
  static __m256i loadBytes(const Block& block) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block.q));
  }
  static __m128 loadScaleAndMin(const Block& block) {
    return _mm_cvtph_ps(_mm_cvtsi32_si128(block.d));
  }
#endif
};

}  // namespace inferoscope::kernels::quant
