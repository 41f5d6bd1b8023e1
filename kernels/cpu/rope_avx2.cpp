// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/rope_avx2.h"

#include "kernels/cpu/simd_inline.h"

#include <immintrin.h>

namespace inferoscope::kernels::cpu {
namespace {

// The sum of coefficients[i] * x^i, the first coefficient being that of the highest power.
template <int kCount>
INFEROSCOPE_SIMD __m256d polynomial(__m256d x, const double (&coefficients)[kCount]) {
  __m256d sum = _mm256_set1_pd(coefficients[0]);
  for (int i = 1; i < kCount; ++i) sum = _mm256_fmadd_pd(sum, x, _mm256_set1_pd(coefficients[i]));
  return sum;
}

struct SineCosine {
  __m128 sine;
  __m128 cosine;
};

// x = n pi / 2 + r with |r| <= pi / 4, then the Taylor polynomials of r to r^11 and r^12, whose remainders are below
// 1e-11, and by n modulo 4 which of them with which sign. pi / 2 in two doubles keeps r good to 1e-16 n.
INFEROSCOPE_SIMD SineCosine sineCosine(__m256d x) {
  const __m256d n = _mm256_round_pd(_mm256_mul_pd(x, _mm256_set1_pd(0x1.45F306DC9C883p-1)),
                                    _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256d r = _mm256_fnmadd_pd(n, _mm256_set1_pd(0x1.921FB54442D18p+0), x);
  r = _mm256_fnmadd_pd(n, _mm256_set1_pd(0x1.1A62633145C07p-54), r);
  const __m256d square = _mm256_mul_pd(r, r);
  const __m256d sine_over_r =
      polynomial(square, {-1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1.0});
  const __m128 s = _mm256_cvtpd_ps(_mm256_mul_pd(r, sine_over_r));
  const __m128 c = _mm256_cvtpd_ps(
      polynomial(square, {1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5, 1.0}));

  const __m128i quadrant = _mm256_cvtpd_epi32(n);
  const __m128 is_odd = _mm_castsi128_ps(_mm_slli_epi32(quadrant, 31));  // the sign bit chooses
  const __m128 minus = _mm_set1_ps(-0.0F);
  // The bit of value 2 makes a sine negative, that of n + 1 a cosine.
  const __m128 sine_sign = _mm_and_ps(minus, _mm_castsi128_ps(_mm_slli_epi32(quadrant, 30)));
  const __m128i next = _mm_add_epi32(quadrant, _mm_set1_epi32(1));
  const __m128 cosine_sign = _mm_and_ps(minus, _mm_castsi128_ps(_mm_slli_epi32(next, 30)));
  return {_mm_xor_ps(_mm_blendv_ps(s, c, is_odd), sine_sign), _mm_xor_ps(_mm_blendv_ps(c, s, is_odd), cosine_sign)};
}

}  // namespace

void ropeAnglesAvx2(double position, const double* inv_freq, int num_pairs, float* cosines, float* sines) {
  for (int i = 0; i < num_pairs; i += 4) {
    const int count = num_pairs - i < 4 ? num_pairs - i : 4;
    const __m256i some = _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
    const __m256d angles = _mm256_mul_pd(_mm256_set1_pd(position), _mm256_maskload_pd(inv_freq + i, some));
    const SineCosine of = sineCosine(angles);
    const __m128i some_floats = _mm_cmpgt_epi32(_mm_set1_epi32(count), _mm_setr_epi32(0, 1, 2, 3));
    _mm_maskstore_ps(cosines + i, some_floats, of.cosine);
    _mm_maskstore_ps(sines + i, some_floats, of.sine);
  }
}

void ropeInterleavedAvx2(float* head, const float* cosines, const float* sines, int num_pairs) {
  int i = 0;
  for (; i + 4 <= num_pairs; i += 4) {
    const __m256i twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    const __m256 c = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(cosines + i)), twice);
    const __m256 s = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(sines + i)), twice);
    const __m256 x = _mm256_loadu_ps(head + 2 * i);
    const __m256 swapped = _mm256_permute_ps(x, 0xB1);
    _mm256_storeu_ps(head + 2 * i, _mm256_addsub_ps(_mm256_mul_ps(x, c), _mm256_mul_ps(swapped, s)));
  }
  for (; i < num_pairs; ++i) {
    const float a = head[2 * i];
    const float b = head[2 * i + 1];
    head[2 * i] = a * cosines[i] - b * sines[i];
    head[2 * i + 1] = b * cosines[i] + a * sines[i];
  }
}

void ropeHalvesAvx2(float* head, const float* cosines, const float* sines, int num_pairs) {
  float* second = head + num_pairs;
  int i = 0;
  for (; i + 8 <= num_pairs; i += 8) {
    const __m256 c = _mm256_loadu_ps(cosines + i);
    const __m256 s = _mm256_loadu_ps(sines + i);
    const __m256 a = _mm256_loadu_ps(head + i);
    const __m256 b = _mm256_loadu_ps(second + i);
    _mm256_storeu_ps(head + i, _mm256_sub_ps(_mm256_mul_ps(a, c), _mm256_mul_ps(b, s)));
    _mm256_storeu_ps(second + i, _mm256_add_ps(_mm256_mul_ps(b, c), _mm256_mul_ps(a, s)));
  }
  for (; i < num_pairs; ++i) {
    const float a = head[i];
    const float b = second[i];
    head[i] = a * cosines[i] - b * sines[i];
    second[i] = b * cosines[i] + a * sines[i];
  }
}

}  // namespace inferoscope::kernels::cpu
