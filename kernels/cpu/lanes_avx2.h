// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/simd_inline.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace inferoscope::kernels::cpu {
namespace {  // NOLINT: meant for each file

// Vectors whose lanes are rows of a matrix, for linear_tiles.h: 8 of them, with AVX2.
struct LanesAvx2 {
  static constexpr int kLanes = 8;
  static constexpr int kFloatTileParts = 2;  // the sums of 6 tokens and 2 vectors of rows fill the registers
  static constexpr int kFloatTileTokens = 6;
  static constexpr int kByteTileTokens = 4;
  static constexpr bool kDotsSignedBytes = true;

  using Floats = __m256;
  using Ints = __m256i;

  INFEROSCOPE_SIMD static Floats zeros() { return _mm256_setzero_ps(); }
  INFEROSCOPE_SIMD static Floats broadcast(const float* value) { return _mm256_broadcast_ss(value); }
  INFEROSCOPE_SIMD static Floats loadFloats(const std::byte* from) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  }
  INFEROSCOPE_SIMD static Floats loadHalves(const std::byte* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  // The upper halves of floats.
  INFEROSCOPE_SIMD static Floats loadUpperHalves(const std::byte* from) {
    const __m256i halves = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(halves, 16));
  }
  INFEROSCOPE_SIMD static void store(float* to, Floats v) { _mm256_storeu_ps(to, v); }
  INFEROSCOPE_SIMD static Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
  INFEROSCOPE_SIMD static Floats multiplyAdd(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
  INFEROSCOPE_SIMD static Floats toFloats(Ints v) { return _mm256_cvtepi32_ps(v); }

  INFEROSCOPE_SIMD static Ints loadInts(const std::byte* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  INFEROSCOPE_SIMD static Ints lowNibbles(Ints v) { return _mm256_and_si256(v, _mm256_set1_epi8(15)); }
  INFEROSCOPE_SIMD static Ints highNibbles(Ints v) { return lowNibbles(_mm256_srli_epi16(v, 4)); }

  // The dots of a block: start(), dot() with each word of weights and 4 bytes of activations, then finish(), which
  // gives their sum plus `correction` (0 for signed weights). Unsigned weights are below 16: the sums of a block's 8
  // pairs of products stay within 16 bits, at most 8 * 2 * 15 * 128 = 30720. Signed ones go through |w| and x with w's
  // sign, and no pair passes 2 * 128 * 127.
  template <bool kSigned>
  INFEROSCOPE_SIMD static Ints start(const std::int32_t*) {
    return _mm256_setzero_si256();
  }
  template <bool kSigned>
  INFEROSCOPE_SIMD static Ints dot(Ints sums, Ints w, const std::int8_t* x) {
    const Ints four = _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(x)));
    if constexpr (kSigned) {
      const Ints pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(four, w));
      return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    } else {
      return _mm256_add_epi16(sums, _mm256_maddubs_epi16(w, four));
    }
  }
  template <bool kSigned>
  INFEROSCOPE_SIMD static Ints finish(Ints sums, const std::int32_t* correction) {
    if constexpr (kSigned) return sums;
    return _mm256_add_epi32(_mm256_madd_epi16(sums, _mm256_set1_epi16(1)), _mm256_set1_epi32(*correction));
  }
};

}  // namespace
}  // namespace inferoscope::kernels::cpu
