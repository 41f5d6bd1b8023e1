// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/probe_loops.h"

#include "kernels/cpu/simd_avx2.h"

namespace inferoscope::kernels::cpu {
std::uint64_t sumBytesAvx2(const std::byte* memory, std::int64_t num_bytes) {
  const auto* from = reinterpret_cast<const __m256i*>(memory);
  __m256i sums[8];
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  for (std::int64_t i = 0; i < num_bytes / 32; i += 8) {
    for (int j = 0; j < 256; j += 64) _mm_prefetch(memory + i * 32 + kProbeAhead + j, _MM_HINT_T0);
    for (int j = 0; j < 8; ++j) sums[j] = _mm256_add_epi64(sums[j], _mm256_load_si256(from + i + j));
  }
  alignas(32) std::uint64_t lanes[4];
  for (int j = 1; j < 8; ++j) sums[0] = _mm256_add_epi64(sums[0], sums[j]);
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sums[0]);
  return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

float fmaRoundsAvx2(std::int64_t num_rounds) {
  __m256 sums[12];
  for (int i = 0; i < 12; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 factor = _mm256_set1_ps(0.5F);
  const __m256 addend = _mm256_set1_ps(1.0F);
  for (std::int64_t round = 0; round < num_rounds; ++round) {
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, factor, addend);
  }
  for (int i = 1; i < 12; ++i) sums[0] = _mm256_add_ps(sums[0], sums[i]);
  return sumOf(sums[0]);
}

}  // namespace inferoscope::kernels::cpu
