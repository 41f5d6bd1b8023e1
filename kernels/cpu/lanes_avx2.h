// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/linear_columns.h"
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
  INFEROSCOPE_SIMD static Ints bytes(int value) { return _mm256_set1_epi8(static_cast<char>(value)); }
  INFEROSCOPE_SIMD static Ints ints(int value) { return _mm256_set1_epi32(value); }
  INFEROSCOPE_SIMD static Ints bitAnd(Ints a, Ints b) { return _mm256_and_si256(a, b); }
  INFEROSCOPE_SIMD static Ints bitOr(Ints a, Ints b) { return _mm256_or_si256(a, b); }
  INFEROSCOPE_SIMD static Ints negative(Ints v) { return _mm256_sub_epi32(_mm256_setzero_si256(), v); }
  template <int kBits>
  INFEROSCOPE_SIMD static Ints shiftRight(Ints v) {
    return _mm256_srli_epi32(v, kBits);
  }
  template <int kBits>
  INFEROSCOPE_SIMD static Ints shiftLeft(Ints v) {
    return _mm256_slli_epi32(v, kBits);
  }
  template <int kByte>
  INFEROSCOPE_SIMD static Ints signedByte(Ints v) {
    return _mm256_srai_epi32(_mm256_slli_epi32(v, 24 - 8 * kByte), 24);
  }

  // The dots of a block: start(), dot() with each word of weights and 4 bytes of activations, then finish(), which
  // gives their sum plus `correction` (0 for signed weights). Of weights below 16 the sums of 8 pairs of products stay
  // within 16 bits, at most 8 * 2 * 15 * 128 = 30720; of those below 64 a pair does. Signed ones go through |w| and x
  // with w's sign, and no pair passes 2 * 128 * 127.
  template <Bytes kBytes>
  INFEROSCOPE_SIMD static Ints start(const std::int32_t*) {
    return _mm256_setzero_si256();
  }
  template <Bytes kBytes>
  INFEROSCOPE_SIMD static Ints dot(Ints sums, Ints w, const std::int8_t* x) {
    const Ints four = _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(x)));
    if constexpr (kBytes == Bytes::kBelow16) {
      return _mm256_add_epi16(sums, _mm256_maddubs_epi16(w, four));
    } else {
      constexpr bool kSigned = kBytes == Bytes::kSigned;
      const Ints pairs =
          kSigned ? _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(four, w)) : _mm256_maddubs_epi16(w, four);
      return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
  }
  template <Bytes kBytes>
  INFEROSCOPE_SIMD static Ints finish(Ints sums, const std::int32_t* correction) {
    if constexpr (kBytes == Bytes::kSigned) return sums;
    if constexpr (kBytes == Bytes::kBelow16) sums = _mm256_madd_epi16(sums, _mm256_set1_epi16(1));
    return _mm256_add_epi32(sums, _mm256_set1_epi32(*correction));
  }
};

}  // namespace
}  // namespace inferoscope::kernels::cpu
