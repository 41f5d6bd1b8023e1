// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/probe_avx2.h"

#include "kernels/cpu/simd_avx2.h"

namespace inferoscope::kernels::cpu {
namespace {

INFEROSCOPE_SIMD __m256i loadBlock(const std::int8_t* bytes) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(bytes));
}

}  // namespace

std::uint64_t sumBytesAvx2(const std::byte* memory, std::int64_t num_bytes) {
  const auto* from = reinterpret_cast<const __m256i*>(memory);
  __m256i sums[8];
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  for (std::int64_t i = 0; i < num_bytes / 32; i += 8) {
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

float dotRoundsAvx2(std::int64_t num_rounds) {
  constexpr int kNumBlocks = 32;  // 2 rows and 4 tokens of them fit the first-level cache
  alignas(32) std::int8_t bytes[6][kNumBlocks][32];
  float scales[4][kNumBlocks];
  for (auto& row : bytes) {
    for (auto& block : row) {
      for (int i = 0; i < 32; ++i) block[i] = static_cast<std::int8_t>(i % 13);
    }
  }
  for (auto& row : scales) {
    for (float& scale : row) scale = 1e-6F;
  }

  __m256 sums[2][4];
  for (auto& of_row : sums) {
    for (__m256& sum : of_row) sum = _mm256_setzero_ps();
  }
  for (std::int64_t round = 0; round < num_rounds; ++round) {
    const int block = static_cast<int>(round % kNumBlocks);
    const __m256i w[2] = {loadBlock(bytes[0][block]), loadBlock(bytes[1][block])};
    for (int t = 0; t < 4; ++t) {
      const __m256i x = loadBlock(bytes[2 + t][block]);
      const __m256 scale = _mm256_broadcast_ss(&scales[t][block]);
      for (int r = 0; r < 2; ++r) {
        sums[r][t] = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(dotUnsigned(w[r], x)), sums[r][t]);
      }
    }
  }
  __m256 all = _mm256_setzero_ps();
  for (const auto& of_row : sums) {
    for (const __m256& sum : of_row) all = _mm256_add_ps(all, sum);
  }
  return sumOf(all);
}

}  // namespace inferoscope::kernels::cpu
