// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/elementwise_avx2.h"

#include "kernels/cpu/simd_avx2.h"

namespace inferoscope::kernels::cpu {
namespace {

// Lanes below `count` are set.
INFEROSCOPE_SIMD __m256i firstLanes(int count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

INFEROSCOPE_SIMD __m256 siluTimes(__m256 gate, __m256 up) {
  const __m256 one = _mm256_set1_ps(1.0F);
  const __m256 negative = _mm256_xor_ps(gate, _mm256_set1_ps(-0.0F));
  return _mm256_mul_ps(_mm256_div_ps(gate, _mm256_add_ps(one, exp8(negative))), up);
}

}  // namespace

void rmsNormRowAvx2(const float* x, const float* weight, int dim, float epsilon, float* out) {
  const int whole = dim / 8 * 8;
  const __m256i rest = firstLanes(dim - whole);
  __m256 squares = _mm256_setzero_ps();
  for (int i = 0; i < whole; i += 8) {
    const __m256 v = _mm256_loadu_ps(x + i);
    squares = _mm256_fmadd_ps(v, v, squares);
  }
  const __m256 tail = _mm256_maskload_ps(x + whole, rest);
  const float sum = sumOf(_mm256_fmadd_ps(tail, tail, squares));
  const __m256 scale = _mm256_set1_ps(1.0F / __builtin_sqrtf(sum / static_cast<float>(dim) + epsilon));
  for (int i = 0; i < whole; i += 8) {
    const __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(x + i), scale);
    _mm256_storeu_ps(out + i, _mm256_mul_ps(scaled, _mm256_loadu_ps(weight + i)));
  }
  const __m256 scaled = _mm256_mul_ps(tail, scale);
  _mm256_maskstore_ps(out + whole, rest, _mm256_mul_ps(scaled, _mm256_maskload_ps(weight + whole, rest)));
}

void swiGluRowAvx2(const float* gate, const float* up, int hidden_dim, float* out) {
  const int whole = hidden_dim / 8 * 8;
  for (int i = 0; i < whole; i += 8) {
    _mm256_storeu_ps(out + i, siluTimes(_mm256_loadu_ps(gate + i), _mm256_loadu_ps(up + i)));
  }
  const __m256i rest = firstLanes(hidden_dim - whole);
  const __m256 last = siluTimes(_mm256_maskload_ps(gate + whole, rest), _mm256_maskload_ps(up + whole, rest));
  _mm256_maskstore_ps(out + whole, rest, last);
}

}  // namespace inferoscope::kernels::cpu
