// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/probe_loops.h"

#include <immintrin.h>

#include <iterator>
#include <numeric>

namespace inferoscope::kernels::cpu {

std::uint64_t sumBytesAvx512(const std::byte* memory, std::int64_t num_bytes) {
  __m512i sums[4];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < num_bytes; i += 256) {
    for (int j = 0; j < 4; ++j) {
      _mm_prefetch(memory + i + kProbeAhead + j * 64, _MM_HINT_T0);
      sums[j] = _mm512_add_epi64(sums[j], _mm512_loadu_si512(memory + i + j * 64));
    }
  }
  const __m512i all = _mm512_add_epi64(_mm512_add_epi64(sums[0], sums[1]), _mm512_add_epi64(sums[2], sums[3]));
  alignas(64) std::uint64_t lanes[8];  // unsigned: the sum wraps
  _mm512_store_si512(lanes, all);
  return std::accumulate(std::begin(lanes), std::end(lanes), std::uint64_t{0});
}

float fmaRoundsAvx512(std::int64_t num_rounds) {
  __m512 sums[12];
  for (int i = 0; i < 12; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 factor = _mm512_set1_ps(0.5F);
  const __m512 addend = _mm512_set1_ps(1.0F);
  for (std::int64_t round = 0; round < num_rounds; ++round) {
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, factor, addend);
  }
  for (int i = 1; i < 12; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_reduce_add_ps(sums[0]);
}

}  // namespace inferoscope::kernels::cpu
