// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/attention_math.h"
#include "kernels/cpu/simd_inline.h"
#include "kernels/quant/f16.h"
#include "kernels/quant/q8_0.h"

#include <immintrin.h>

namespace inferoscope::kernels::cpu {
namespace {

static_assert(kTileTokens == 32);  // a row of scores is two vectors
constexpr int kTileRows = 12;      // times two vectors of sums, which fill the registers

// Lane i of v[j] becomes lane j of v[i].
INFEROSCOPE_SIMD void transpose(__m512 (&v)[16]) {
  __m512 pairs[16];
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_ps(v[i], v[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_ps(v[i], v[i + 1]);
  }
  // fours[4 i + j]: in each quarter q, lane 4 q + j of v[4 i ... 4 i + 3]
  __m512 fours[16];
  for (int i = 0; i < 16; i += 4) {
    const __m512d low[2] = {_mm512_castps_pd(pairs[i]), _mm512_castps_pd(pairs[i + 2])};
    const __m512d high[2] = {_mm512_castps_pd(pairs[i + 1]), _mm512_castps_pd(pairs[i + 3])};
    fours[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(low[0], low[1]));
    fours[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low[0], low[1]));
    fours[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high[0], high[1]));
    fours[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high[0], high[1]));
  }
  for (int j = 0; j < 4; ++j) {
    const __m512 even_low = _mm512_shuffle_f32x4(fours[j], fours[4 + j], 0x88);  // quarters 0, 2 of both
    const __m512 odd_low = _mm512_shuffle_f32x4(fours[j], fours[4 + j], 0xDD);   // quarters 1, 3
    const __m512 even_high = _mm512_shuffle_f32x4(fours[8 + j], fours[12 + j], 0x88);
    const __m512 odd_high = _mm512_shuffle_f32x4(fours[8 + j], fours[12 + j], 0xDD);
    v[j] = _mm512_shuffle_f32x4(even_low, even_high, 0x88);
    v[4 + j] = _mm512_shuffle_f32x4(odd_low, odd_high, 0x88);
    v[8 + j] = _mm512_shuffle_f32x4(even_low, even_high, 0xDD);
    v[12 + j] = _mm512_shuffle_f32x4(odd_low, odd_high, 0xDD);
  }
}

// Vectors read in groups of 16 elements: decoded ones, and those of a cache.
struct Floats {
  using Vector = const float*;
  static __m512 load(Vector from, int d) { return _mm512_loadu_ps(from + d); }
};

struct Halves {
  using Vector = const std::byte*;
  static int bytes(int dim) { return dim * 2; }
  static __m512 load(Vector from, int d) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from) + d / 16));
  }
};

using ByteBlock = quant::Q8_0::Block;  // a half as scale and 32 signed bytes
static_assert(quant::Q8_0::kBlockElems == kTileTokens);
constexpr int kMaxBytesDim = 256;  // of stored vectors of bytes

// Signed bytes with their scales made floats before.
struct Bytes {
  struct Vector {
    const std::byte* blocks;
    const float* scales;  // one a block
  };
  static int bytes(int dim) { return dim / 32 * static_cast<int>(sizeof(ByteBlock)); }
  static __m512 load(Vector from, int d) {
    const auto& block = reinterpret_cast<const ByteBlock*>(from.blocks)[d / 32];
    const __m128i q = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block.q + d % 32));
    return _mm512_mul_ps(_mm512_set1_ps(from.scales[d / 32]), _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(q)));
  }
};

// 32 elements of all tokens of a tile, arranged: q + kOffset as halves, which hold it exactly, and for each token its
// scale and kOffset * scale. So (q + kOffset) * scale - kOffset * scale is q * scale, without rounding.
struct ArrangedBytes {
  using Vector = const std::byte*;
  static constexpr int kOffset = 1024 + 128;
  static constexpr int kHalvesAt = 2 * kTileTokens * sizeof(float);
  static constexpr int kBlockBytes = kHalvesAt + 32 * kTileTokens * 2;
  static __m512 load(Vector from, int index) {
    const std::byte* block = from + index / (32 * kTileTokens) * kBlockBytes;
    const auto* of_tokens = reinterpret_cast<const float*>(block) + index % kTileTokens;
    const __m512 q = Halves::load(block + kHalvesAt, index % (32 * kTileTokens));
    return _mm512_fmsub_ps(q, _mm512_loadu_ps(of_tokens), _mm512_loadu_ps(of_tokens + kTileTokens));
  }
};

// [kTileTokens, dim] becomes [dim, kTileTokens]: a lane is a token.
void arrange(const float* keys, int dim, float* arranged) {
  for (int token = 0; token < kTileTokens; token += 16) {
    for (int d = 0; d < dim; d += 16) {
      __m512 v[16];
      for (int i = 0; i < 16; ++i) v[i] = _mm512_loadu_ps(keys + std::int64_t{token + i} * dim + d);
      transpose(v);
      for (int i = 0; i < 16; ++i) _mm512_storeu_ps(arranged + std::int64_t{d + i} * kTileTokens + token, v[i]);
    }
  }
}

// In each half of the result one element of 16 tokens: lane i of the sources' halves are elements of token i, for the
// left ones elements 0 to 7 in the first quarter and 8 to 15 in the second.
INFEROSCOPE_SIMD void transposeHalves(__m512i (&v)[16]) {
  __m512i pairs[16];
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_epi16(v[i], v[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi16(v[i], v[i + 1]);
  }
  __m512i fours[16];
  for (int i = 0; i < 16; i += 4) {
    for (int j = 0; j < 2; ++j) {
      fours[i + 2 * j] = _mm512_unpacklo_epi32(pairs[i + j], pairs[i + 2 + j]);
      fours[i + 2 * j + 1] = _mm512_unpackhi_epi32(pairs[i + j], pairs[i + 2 + j]);
    }
  }
  // eights[i + e]: element e of tokens i to i + 7 in quarters 0 and 2, element 8 + e in quarters 1 and 3.
  __m512i eights[16];
  for (int i = 0; i < 16; i += 8) {
    for (int j = 0; j < 4; ++j) {
      eights[i + 2 * j] = _mm512_unpacklo_epi64(fours[i + j], fours[i + 4 + j]);
      eights[i + 2 * j + 1] = _mm512_unpackhi_epi64(fours[i + j], fours[i + 4 + j]);
    }
  }
  const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
  const __m512i high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
  for (int e = 0; e < 8; ++e) {
    v[e] = _mm512_permutex2var_epi64(eights[e], low, eights[8 + e]);
    v[8 + e] = _mm512_permutex2var_epi64(eights[e], high, eights[8 + e]);
  }
}

INFEROSCOPE_SIMD void prefetch(const std::byte* from, int num_bytes) {
  for (int at = 0; at < num_bytes; at += 64) __builtin_prefetch(from + at);
}

// load(token): 16 elements of it as halves; `to` [16, kTileTokens]
template <class Load>
INFEROSCOPE_SIMD void arrange16(const Load& load, std::byte* to) {
  __m512i v[16];
  for (int i = 0; i < 16; ++i) v[i] = _mm512_inserti64x4(_mm512_castsi256_si512(load(i)), load(16 + i), 1);
  transposeHalves(v);
  for (int i = 0; i < 16; ++i) _mm512_storeu_si512(to + i * kTileTokens * 2, v[i]);
}

// Keys of halves stay halves: half the shuffles, half the memory.
void arrangeHalves(const std::byte* const* keys, const std::byte* const* next, int dim, std::byte* arranged) {
  for (int d = 0; d < dim; d += 16, arranged += 16 * kTileTokens * 2) {
    // In the order in which they lie, a part in each turn.
    for (int i = d * kTileTokens / dim; i < (d + 16) * kTileTokens / dim; ++i) prefetch(next[i], Halves::bytes(dim));
    const auto load = [&](int token) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys[token] + d * 2));
    };
    arrange16(load, arranged);
  }
}

const ByteBlock& byteBlock(const std::byte* vector, int d) {
  return reinterpret_cast<const ByteBlock*>(vector)[d / 32];
}

INFEROSCOPE_SIMD void arrangeScales(const std::byte* const* keys, int d, float* scales) {
  std::uint16_t halves[kTileTokens];
  for (int i = 0; i < kTileTokens; ++i) halves[i] = byteBlock(keys[i], d).d;
  for (int i = 0; i < kTileTokens; i += 16) {
    const __m512 scale = Halves::load(reinterpret_cast<const std::byte*>(halves), i);
    _mm512_storeu_ps(scales + i, scale);
    _mm512_storeu_ps(scales + kTileTokens + i, _mm512_mul_ps(scale, _mm512_set1_ps(ArrangedBytes::kOffset)));
  }
}

void arrangeBytes(const std::byte* const* keys, const std::byte* const* next, int dim, std::byte* arranged) {
  for (int d = 0; d < dim; d += 32, arranged += ArrangedBytes::kBlockBytes) {
    for (int i = d * kTileTokens / dim; i < (d + 32) * kTileTokens / dim; ++i) prefetch(next[i], Bytes::bytes(dim));
    arrangeScales(keys, d, reinterpret_cast<float*>(arranged));
    for (int j = 0; j < 32; j += 16) {
      // 1024 + a byte, for that is what a half of these bits is.
      const auto load = [&](int token) {
        const auto* q = reinterpret_cast<const __m128i*>(byteBlock(keys[token], d).q + j);
        const __m128i unsigned_q = _mm_xor_si128(_mm_loadu_si128(q), _mm_set1_epi8(-128));
        return _mm256_or_si256(_mm256_cvtepu8_epi16(unsigned_q), _mm256_set1_epi16(0x6400));
      };
      arrange16(load, arranged + ArrangedBytes::kHalvesAt + j * kTileTokens * 2);
    }
  }
}

template <class Kind, int kRows>
INFEROSCOPE_SIMD void scoreRows(const float* queries, typename Kind::Vector arranged, int dim, float* scores) {
  __m512 sums[kRows][2];
  for (auto& of_row : sums) of_row[0] = of_row[1] = _mm512_setzero_ps();
  for (int d = 0; d < dim; ++d) {
    const __m512 keys[2] = {Kind::load(arranged, d * kTileTokens), Kind::load(arranged, d * kTileTokens + 16)};
    for (int r = 0; r < kRows; ++r) {
      const __m512 q = _mm512_set1_ps(queries[std::int64_t{r} * dim + d]);
      for (int i = 0; i < 2; ++i) sums[r][i] = _mm512_fmadd_ps(q, keys[i], sums[r][i]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int i = 0; i < 2; ++i) _mm512_storeu_ps(scores + r * kTileTokens + i * 16, sums[r][i]);
  }
}

template <class Kind>
void scores(const float* queries, int num_rows, typename Kind::Vector arranged, int dim, float* scores) {
  int row = 0;
  const auto run = [&]<int kRows>() {
    for (; row + kRows <= num_rows; row += kRows) {
      scoreRows<Kind, kRows>(queries + std::int64_t{row} * dim, arranged, dim, scores + row * kTileTokens);
    }
  };
  run.template operator()<kTileRows>();
  run.template operator()<4>();
  run.template operator()<3>();
  run.template operator()<1>();
}

// NaN if there is one: the instruction drops it, and a row of nothing else would pass for an empty one.
float largest(const float* scores, int num_scores) {
  __m512 most = _mm512_loadu_ps(scores);
  __mmask16 any_nan = _mm512_cmp_ps_mask(most, most, _CMP_UNORD_Q);
  for (int i = 16; i < num_scores; i += 16) {
    const __m512 next = _mm512_loadu_ps(scores + i);
    most = _mm512_max_ps(most, next);
    any_nan |= _mm512_cmp_ps_mask(next, next, _CMP_UNORD_Q);
  }
  return any_nan != 0 ? __builtin_nanf("") : _mm512_reduce_max_ps(most);
}

// As exp8 of simd_avx2.h.
INFEROSCOPE_SIMD __m512 exp16(__m512 x) {
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504F)),
                                        _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375F), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4F), r);
  __m512 p = _mm512_set1_ps(1.0F / 5040.0F);
  for (const float term : {1.0F / 720.0F, 1.0F / 120.0F, 1.0F / 24.0F, 1.0F / 6.0F, 0.5F, 1.0F, 1.0F}) {
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(term));
  }
  const __mmask16 is_small = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.336544F), _CMP_LT_OQ);
  return _mm512_mask_mov_ps(_mm512_scalef_ps(p, n), is_small, _mm512_setzero_ps());
}

float expSum(float* scores, int num_scores, float m) {
  const __m512 most = _mm512_set1_ps(m);
  __m512 sum = _mm512_setzero_ps();
  for (int i = 0; i < num_scores; i += 16) {
    const __m512 weights = exp16(_mm512_sub_ps(_mm512_loadu_ps(scores + i), most));
    _mm512_storeu_ps(scores + i, weights);
    sum = _mm512_add_ps(sum, weights);
  }
  return _mm512_reduce_add_ps(sum);
}

void scale(float* values, int num_values, float factor) {
  const __m512 f = _mm512_set1_ps(factor);
  for (int i = 0; i < num_values; i += 16) {
    _mm512_storeu_ps(values + i, _mm512_mul_ps(f, _mm512_loadu_ps(values + i)));
  }
}

// kRows rows of kVectors vectors of `out` in registers while all tokens pass by.
template <class Kind, int kRows, int kVectors, class Vectors>
INFEROSCOPE_SIMD void accumulateRows(const float* weights, const Vectors& vectors, int num_tokens, int dim, int d,
                                     float* out) {
  __m512 sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_loadu_ps(out + std::int64_t{r} * dim + d + v * 16);
  }
  for (int i = 0; i < num_tokens; ++i) {
    const typename Kind::Vector from = vectors(i);
    __m512 value[kVectors];
    for (int v = 0; v < kVectors; ++v) value[v] = Kind::load(from, d + v * 16);
    for (int r = 0; r < kRows; ++r) {
      const __m512 weight = _mm512_set1_ps(weights[r * kTileTokens + i]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_fmadd_ps(weight, value[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) _mm512_storeu_ps(out + std::int64_t{r} * dim + d + v * 16, sums[r][v]);
  }
}

template <class Kind, class Vectors>
void accumulateVectors(const float* weights, int num_rows, const Vectors& vectors, int num_tokens, int dim,
                       float* out) {
  int row = 0;
  const auto run = [&]<int kRows>() {
    for (; row + kRows <= num_rows; row += kRows) {
      const float* of_rows = weights + row * kTileTokens;
      float* to = out + std::int64_t{row} * dim;
      int d = 0;
      for (; d + 64 <= dim; d += 64) accumulateRows<Kind, kRows, 4>(of_rows, vectors, num_tokens, dim, d, to);
      for (; d < dim; d += 16) accumulateRows<Kind, kRows, 1>(of_rows, vectors, num_tokens, dim, d, to);
    }
  };
  run.template operator()<6>();
  run.template operator()<4>();
  run.template operator()<3>();
  run.template operator()<1>();
}

void accumulate(const float* weights, int num_rows, const float* values, int num_tokens, int dim, float* out) {
  const auto vectors = [&](int i) { return values + std::int64_t{i} * dim; };
  accumulateVectors<Floats>(weights, num_rows, vectors, num_tokens, dim, out);
}

void decodeHalves(const std::byte* halves, float* values, std::int64_t num_elems) {
  for (std::int64_t i = 0; i < num_elems; i += 16) {
    const auto some = static_cast<__mmask16>(num_elems - i >= 16 ? 0xFFFF : (1 << (num_elems - i)) - 1);
    _mm512_mask_storeu_ps(values + i, some, _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(some, halves + i * 2)));
  }
}

void accumulateHalves(const float* weights, int num_rows, const std::byte* const* values, const std::byte* const* next,
                      int num_tokens, int dim, float* out) {
  const auto vectors = [&](int i) {
    prefetch(next[i], Halves::bytes(dim));
    return values[i];
  };
  accumulateVectors<Halves>(weights, num_rows, vectors, num_tokens, dim, out);
}

void accumulateBytes(const float* weights, int num_rows, const std::byte* const* values, const std::byte* const* next,
                     int num_tokens, int dim, float* out) {
  std::uint16_t halves[kTileTokens * kMaxBytesDim / 32];
  float scales[kTileTokens * kMaxBytesDim / 32];
  const int num_blocks = dim / 32;
  for (int i = 0; i < num_tokens; ++i) {
    for (int b = 0; b < num_blocks; ++b) halves[i * num_blocks + b] = byteBlock(values[i], b * 32).d;
  }
  decodeHalves(reinterpret_cast<const std::byte*>(halves), scales, std::int64_t{num_tokens} * num_blocks);
  const auto vectors = [&](int i) {
    prefetch(next[i], Bytes::bytes(dim));
    return Bytes::Vector{values[i], scales + i * num_blocks};
  };
  accumulateVectors<Bytes>(weights, num_rows, vectors, num_tokens, dim, out);
}

AttentionMath::Stored stored(FormatId format, int dim) {
  if (format == quant::F16::kId && dim % 16 == 0) return {arrangeHalves, scores<Halves>, accumulateHalves};
  if (format == quant::Q8_0::kId && dim <= kMaxBytesDim) return {arrangeBytes, scores<ArrangedBytes>, accumulateBytes};
  return {};
}

void decodeBytes(const std::byte* blocks, float* values, std::int64_t num_elems) {
  for (std::int64_t i = 0; i < num_elems; i += 32, blocks += sizeof(ByteBlock)) {
    const float scale = _cvtsh_ss(byteBlock(blocks, 0).d);
    for (int j = 0; j < 32; j += 16) _mm512_storeu_ps(values + i + j, Bytes::load({blocks, &scale}, j));
  }
}

AttentionMath::Decode decoder(FormatId format) {
  if (format == quant::F16::kId) return decodeHalves;
  if (format == quant::Q8_0::kId) return decodeBytes;
  return avx2AttentionMath().decoder(format);
}

}  // namespace

const AttentionMath& avx512AttentionMath() {
  static constexpr AttentionMath kMath = {decoder, stored, arrange, scores<Floats>, largest, expSum, scale, accumulate};
  return kMath;
}

}  // namespace inferoscope::kernels::cpu
