// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/linear_columns.h"
#include "kernels/cpu/simd_inline.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace inferoscope::kernels::cpu {
namespace {  // NOLINT: meant for each file

// As LanesAvx2: 16 rows with AVX-512, integer dots by its VNNI.
struct LanesAvx512 {
  static constexpr int kLanes = 16;
  static constexpr int kFloatTileParts = 2;
  static constexpr int kFloatTileTokens = 12;
  static constexpr int kByteTileTokens = 12;
  static constexpr bool kDotsSignedBytes = false;  // they become unsigned ones: w + 128

  using Floats = __m512;
  using Ints = __m512i;

  INFEROSCOPE_SIMD static Floats zeros() { return _mm512_setzero_ps(); }
  INFEROSCOPE_SIMD static Floats broadcast(const float* value) { return _mm512_set1_ps(*value); }
  INFEROSCOPE_SIMD static Floats loadFloats(const std::byte* from) { return _mm512_loadu_ps(from); }
  INFEROSCOPE_SIMD static Floats loadHalves(const std::byte* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  INFEROSCOPE_SIMD static Floats loadUpperHalves(const std::byte* from) {
    const __m512i halves = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    return _mm512_castsi512_ps(_mm512_slli_epi32(halves, 16));
  }
  INFEROSCOPE_SIMD static void store(float* to, Floats v) { _mm512_storeu_ps(to, v); }
  INFEROSCOPE_SIMD static Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  INFEROSCOPE_SIMD static Floats multiplyAdd(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
  INFEROSCOPE_SIMD static Floats toFloats(Ints v) { return _mm512_cvtepi32_ps(v); }

  INFEROSCOPE_SIMD static Ints loadInts(const std::byte* from) { return _mm512_loadu_si512(from); }
  INFEROSCOPE_SIMD static Ints bytes(int value) { return _mm512_set1_epi8(static_cast<char>(value)); }
  INFEROSCOPE_SIMD static Ints ints(int value) { return _mm512_set1_epi32(value); }
  INFEROSCOPE_SIMD static Ints bitAnd(Ints a, Ints b) { return _mm512_and_si512(a, b); }
  INFEROSCOPE_SIMD static Ints bitOr(Ints a, Ints b) { return _mm512_or_si512(a, b); }
  INFEROSCOPE_SIMD static Ints negative(Ints v) { return _mm512_sub_epi32(_mm512_setzero_si512(), v); }
  template <int kBits>
  INFEROSCOPE_SIMD static Ints shiftRight(Ints v) {
    return _mm512_srli_epi32(v, kBits);
  }
  template <int kBits>
  INFEROSCOPE_SIMD static Ints shiftLeft(Ints v) {
    return _mm512_slli_epi32(v, kBits);
  }
  template <int kByte>
  INFEROSCOPE_SIMD static Ints signedByte(Ints v) {
    return _mm512_srai_epi32(_mm512_slli_epi32(v, 24 - 8 * kByte), 24);
  }

  // `correction` makes up for what the weights are away from their values.
  template <Bytes kBytes>
  INFEROSCOPE_SIMD static Ints start(const std::int32_t* correction) {
    return _mm512_set1_epi32(*correction);
  }
  template <Bytes kBytes>
  INFEROSCOPE_SIMD static Ints dot(Ints sums, Ints w, const std::int8_t* x) {
    std::int32_t four;
    __builtin_memcpy(&four, x, sizeof(four));
    if constexpr (kBytes == Bytes::kSigned) w = _mm512_xor_si512(w, _mm512_set1_epi8(-128));
    return _mm512_dpbusd_epi32(sums, w, _mm512_set1_epi32(four));
  }
  template <Bytes kBytes>
  INFEROSCOPE_SIMD static Ints finish(Ints sums, const std::int32_t*) {
    return sums;
  }
};

}  // namespace
}  // namespace inferoscope::kernels::cpu
