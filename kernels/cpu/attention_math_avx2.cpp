// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/attention_math.h"
#include "kernels/cpu/simd_avx2.h"

namespace inferoscope::kernels::cpu {
namespace {

template <PlainFormat F>
void decode(const std::byte* blocks, float* values, std::int64_t num_elems) {
  const auto* from = reinterpret_cast<const typename F::Block*>(blocks);
  const std::int64_t whole = num_elems / 8 * 8;
  for (std::int64_t i = 0; i < whole; i += 8) _mm256_storeu_ps(values + i, F::load8(from + i));
  const int rest = static_cast<int>(num_elems - whole);
  alignas(32) float last[8];
  _mm256_store_ps(last, loadFirst<F>(from + whole, rest));
  for (int i = 0; i < rest; ++i) values[whole + i] = last[i];
}

// Signed bytes, which have no min.
template <ByteFormat F>
requires F::kSignedBytes void decode(const std::byte* blocks, float* values, std::int64_t num_elems) {
  const auto* block = reinterpret_cast<const typename F::Block*>(blocks);
  for (std::int64_t i = 0; i < num_elems; i += F::kBlockElems, ++block) {
    const __m256 scale = _mm256_broadcastss_ps(F::loadScaleAndMin(*block));
    alignas(32) std::int8_t q[F::kBlockElems];
    _mm256_store_si256(reinterpret_cast<__m256i*>(q), F::loadBytes(*block));
    for (int j = 0; j < F::kBlockElems; j += 8) {
      const __m256i eight = _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(q + j)));
      _mm256_storeu_ps(values + i + j, _mm256_mul_ps(scale, _mm256_cvtepi32_ps(eight)));
    }
  }
}

template <class F>
void findIn(FormatId format, AttentionMath::Decode& found) {
  if constexpr (requires { &decode<F>; }) {
    if (format == F::kId) found = &decode<F>;
  }
}

template <class... Fs>
AttentionMath::Decode find(FormatId format, quant::FormatList<Fs...>) {
  AttentionMath::Decode found = formatOf(format).decode;  // rare as KV formats: the plain code will do
  (findIn<Fs>(format, found), ...);
  return found;
}

AttentionMath::Decode decoder(FormatId format) {
  return find(format, quant::AllFormats{});
}

// Lane i of the result: the sum of the lanes of v[i].
INFEROSCOPE_SIMD __m256 sumsOf(const __m256 (&v)[8]) {
  const __m256 a = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
  const __m256 b = _mm256_hadd_ps(_mm256_hadd_ps(v[4], v[5]), _mm256_hadd_ps(v[6], v[7]));
  return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}

AttentionMath::Stored stored(FormatId, int) {
  return {};
}

void arrange(const float* keys, int dim, float* arranged) {
  for (int i = 0; i < kTileTokens * dim; i += 8) _mm256_storeu_ps(arranged + i, _mm256_loadu_ps(keys + i));
}

INFEROSCOPE_SIMD void dots(const float* q, const float* keys, int dim, float* scores) {
  for (int i = 0; i < kTileTokens; i += 8) {
    const float* rows = keys + std::int64_t{i} * dim;
    __m256 sums[8];
    for (__m256& sum : sums) sum = _mm256_setzero_ps();
    for (int d = 0; d < dim; d += 8) {
      const __m256 query = _mm256_loadu_ps(q + d);
      for (int j = 0; j < 8; ++j) {
        sums[j] = _mm256_fmadd_ps(query, _mm256_loadu_ps(rows + std::int64_t{j} * dim + d), sums[j]);
      }
    }
    _mm256_storeu_ps(scores + i, sumsOf(sums));
  }
}

void scores(const float* queries, int num_rows, const float* keys, int dim, float* scores) {
  for (int row = 0; row < num_rows; ++row) {
    dots(queries + std::int64_t{row} * dim, keys, dim, scores + row * kTileTokens);
  }
}

// NaN if there is one: the instruction drops it, and a row of nothing else would pass for an empty one.
float largest(const float* scores, int num_scores) {
  __m256 most = _mm256_loadu_ps(scores);
  __m256 any_nan = _mm256_cmp_ps(most, most, _CMP_UNORD_Q);
  for (int i = 8; i < num_scores; i += 8) {
    const __m256 next = _mm256_loadu_ps(scores + i);
    most = _mm256_max_ps(most, next);
    any_nan = _mm256_or_ps(any_nan, _mm256_cmp_ps(next, next, _CMP_UNORD_Q));
  }
  return _mm256_movemask_ps(any_nan) != 0 ? __builtin_nanf("") : largestOf(most);
}

float expSum(float* scores, int num_scores, float m) {
  const __m256 most = _mm256_set1_ps(m);
  __m256 sum = _mm256_setzero_ps();
  for (int i = 0; i < num_scores; i += 8) {
    const __m256 weights = exp8(_mm256_sub_ps(_mm256_loadu_ps(scores + i), most));
    _mm256_storeu_ps(scores + i, weights);
    sum = _mm256_add_ps(sum, weights);
  }
  return sumOf(sum);
}

void scale(float* values, int num_values, float factor) {
  const __m256 f = _mm256_set1_ps(factor);
  for (int i = 0; i < num_values; i += 8) _mm256_storeu_ps(values + i, _mm256_mul_ps(f, _mm256_loadu_ps(values + i)));
}

// out[0 .. 8 kVectors) in registers while all tokens pass by.
template <int kVectors>
INFEROSCOPE_SIMD void accumulateVectors(const float* weights, const float* values, int num_tokens, int dim,
                                        float* out) {
  __m256 sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = _mm256_loadu_ps(out + v * 8);
  for (int i = 0; i < num_tokens; ++i) {
    const __m256 weight = _mm256_broadcast_ss(weights + i);
    const float* row = values + std::int64_t{i} * dim;
    for (int v = 0; v < kVectors; ++v) sums[v] = _mm256_fmadd_ps(weight, _mm256_loadu_ps(row + v * 8), sums[v]);
  }
  for (int v = 0; v < kVectors; ++v) _mm256_storeu_ps(out + v * 8, sums[v]);
}

void accumulate(const float* weights, int num_rows, const float* values, int num_tokens, int dim, float* out) {
  for (int row = 0; row < num_rows; ++row, weights += kTileTokens, out += dim) {
    int d = 0;
    for (; d + 64 <= dim; d += 64) accumulateVectors<8>(weights, values + d, num_tokens, dim, out + d);
    for (; d < dim; d += 8) accumulateVectors<1>(weights, values + d, num_tokens, dim, out + d);
  }
}

}  // namespace

const AttentionMath& avx2AttentionMath() {
  static constexpr AttentionMath kMath = {decoder, stored, arrange, scores, largest, expSum, scale, accumulate};
  return kMath;
}

}  // namespace inferoscope::kernels::cpu
