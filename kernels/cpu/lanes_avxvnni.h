// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/lanes_avx2.h"

namespace inferoscope::kernels::cpu {
namespace {  // NOLINT: meant for each file

// As LanesAvx2, with integer dots by AVX-VNNI: what has it need not have AVX-512.
struct LanesAvxVnni : LanesAvx2 {
  static constexpr bool kDotsSignedBytes = false;  // they become unsigned ones: w + 128

  // `correction` makes up for what the weights are away from their values.
  template <Bytes kBytes>
  INFEROSCOPE_SIMD static Ints start(const std::int32_t* correction) {
    return _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(correction)));
  }
  template <Bytes kBytes>
  INFEROSCOPE_SIMD static Ints dot(Ints sums, Ints w, const std::int8_t* x) {
    const Ints four = _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(x)));
    if constexpr (kBytes == Bytes::kSigned) w = _mm256_xor_si256(w, _mm256_set1_epi8(-128));
    return _mm256_dpbusd_avx_epi32(sums, w, four);
  }
  template <Bytes kBytes>
  INFEROSCOPE_SIMD static Ints finish(Ints sums, const std::int32_t*) {
    return sums;
  }
};

}  // namespace
}  // namespace inferoscope::kernels::cpu
