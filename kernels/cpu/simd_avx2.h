// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/simd_inline.h"
#include "kernels/quant/formats.h"

#include <immintrin.h>

// Helpers for the *_avx2.cpp files alone.
namespace inferoscope::kernels::cpu {
namespace {  // NOLINT: meant for each file

template <class F>
concept PlainFormat = requires(const typename F::Block* blocks) {
  F::load8(blocks);
};
template <class F>
concept ByteFormat = requires(const typename F::Block& block) {
  F::loadBytes(block);
};

// Fewer than 8 elements, zeros beyond.
template <PlainFormat F>
INFEROSCOPE_SIMD __m256 loadFirst(const typename F::Block* blocks, int count) {
  typename F::Block padded[8] = {};
  for (int i = 0; i < count; ++i) padded[i] = blocks[i];
  return F::load8(padded);
}

// Lanes added in one fixed order.
INFEROSCOPE_SIMD float sumOf(__m256 v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

INFEROSCOPE_SIMD float largestOf(__m256 v) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

// Lane i: the sum of four products a[j] * b[j], j = 4 i ... 4 i + 3. Never saturates for b within -127..127.
INFEROSCOPE_SIMD __m256i dotUnsigned(__m256i a, __m256i b) {
  return _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1));
}

// e^x to within 2 units in the last place: x = n ln 2 + r with |r| <= ln 2 / 2, e^r by its Taylor polynomial of degree
// 7 (remainder 5e-9). Below -87.3 (results under the smallest normal float): 0. Above 88.7: infinity. NaN stays NaN.
INFEROSCOPE_SIMD __m256 exp8(__m256 x) {
  const __m256 kLog2E = _mm256_set1_ps(1.44269504F);
  const __m256 kLn2High = _mm256_set1_ps(0.693359375F);  // few bits, so that n * kLn2High is exact
  const __m256 kLn2Low = _mm256_set1_ps(-2.12194440e-4F);
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, kLog2E), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fnmadd_ps(n, kLn2High, x);
  r = _mm256_fnmadd_ps(n, kLn2Low, r);

  __m256 p = _mm256_set1_ps(1.0F / 5040.0F);
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 720.0F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 120.0F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 24.0F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 6.0F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F));

  // p * 2^n in two steps, since 2^128 is no float though p * 2^128 can be.
  const __m256i power = _mm256_cvtps_epi32(n);
  const __m256i half = _mm256_srai_epi32(power, 1);
  const __m256i kBias = _mm256_set1_epi32(127);
  const __m256 first = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, kBias), 23));
  const __m256 second =
      _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(power, half), kBias), 23));
  const __m256 result = _mm256_mul_ps(_mm256_mul_ps(p, first), second);

  const __m256 is_large = _mm256_cmp_ps(x, _mm256_set1_ps(88.722839F), _CMP_GT_OQ);
  const __m256 is_small = _mm256_cmp_ps(x, _mm256_set1_ps(-87.336544F), _CMP_LT_OQ);
  return _mm256_andnot_ps(is_small, _mm256_blendv_ps(result, _mm256_set1_ps(__builtin_inff()), is_large));
}

}  // namespace
}  // namespace inferoscope::kernels::cpu
