// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/lanes_avx2.h"
#include "kernels/cpu/linear_columns.h"
#include "kernels/cpu/linear_interleaved.h"
#include "kernels/cpu/simd_avx2.h"
#include "kernels/interleave.h"

#include <cstring>
#include <type_traits>
#include <utility>

// Products with interleaved rows, once for all instruction sets: V is one of the Lanes structs. A lane is a row, so
// that nothing is ever summed across lanes, and all instruction sets give the same bits.
namespace inferoscope::kernels::cpu {
namespace {  // NOLINT: meant for each file

template <class F>
concept FloatsFormat = std::is_same_v<F, quant::F32> || std::is_same_v<F, quant::F16> || std::is_same_v<F, quant::BF16>;
template <class F>
concept BlocksFormat = requires {
  sizeof(Columns<LanesAvx2, F, 0>);
};

constexpr int kBlock = 32;  // columns that share a scale of the activations
constexpr int kTileSizes[] = {12, 8, 6, 4, 2, 1};

template <class V, class F>
constexpr int kTileTokens = FloatsFormat<F> ? V::kFloatTileTokens : V::kByteTileTokens;

// Tokens of the tile that begins with `rest` of them to go.
template <class V, class F>
int tileSize(int rest) {
  for (const int size : kTileSizes) {
    if (size <= kTileTokens<V, F> && size <= rest) return size;
  }
  return 0;
}

// ---- Packed tokens ----

// One block of columns of a tile of kTokens tokens: x = scale * q. kScales: of the weights of such a block.
template <int kTokens, int kScales>
struct ByteTile {
  std::int8_t q[kTokens][kBlock];
  float scale[kTokens];
  float sum[kTokens];                         // of the block's x: times a weight block's min it is what that adds
  std::int32_t correction[kScales][kTokens];  // for start() and finish()
};
template <class F, int kTokens>
using TileOf = ByteTile<kTokens, Columns<LanesAvx2, F, 0>::kNumScales>;

// What a dot of unsigned bytes has too much is this times the sum of q.
template <class V, class F>
constexpr int kOffset = Columns<V, F, 0>::kBytes == Bytes::kSigned ? (V::kDotsSignedBytes ? 0 : 128)
                                                                   : Columns<V, F, 0>::kZero;

INFEROSCOPE_SIMD int sumOfInts(__m256i v) {
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  const __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 1)));
}

template <int kTokens, int kScales>
INFEROSCOPE_SIMD void quantize(const float* x, int offset, ByteTile<kTokens, kScales>& to, int t) {
  __m256 v[4];
  __m256 largest = _mm256_setzero_ps();
  __m256 any_nan = _mm256_setzero_ps();
  for (int i = 0; i < 4; ++i) {
    v[i] = _mm256_loadu_ps(x + i * 8);
    largest = _mm256_max_ps(largest, _mm256_andnot_ps(_mm256_set1_ps(-0.0F), v[i]));
    any_nan = _mm256_or_ps(any_nan, _mm256_cmp_ps(v[i], v[i], _CMP_UNORD_Q));
  }
  float scale = largestOf(largest) / 127.0F;
  const float inverse = scale != 0.0F ? 1.0F / scale : 0.0F;
  if (_mm256_movemask_ps(any_nan) != 0) scale = __builtin_nanf("");  // must not be lost on the way to the logits

  __m256i n[4];
  for (int i = 0; i < 4; ++i) n[i] = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], _mm256_set1_ps(inverse)));
  // Packing works within 128-bit halves; the permutation puts the elements back in order.
  const __m256i packed = _mm256_packs_epi16(_mm256_packs_epi32(n[0], n[1]), _mm256_packs_epi32(n[2], n[3]));
  const __m256i q = _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  const __m256i sums = dotUnsigned(_mm256_set1_epi8(1), q);  // lane i: of columns 4 i ... 4 i + 3
  const int sum = sumOfInts(sums);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to.q[t]), q);
  to.scale[t] = scale;
  to.sum[t] = scale * static_cast<float>(sum);
  if constexpr (kScales == 1) {
    to.correction[0][t] = -offset * sum;
  } else {
    const int first = sumOfInts(_mm256_blend_epi32(sums, _mm256_setzero_si256(), 0xF0));
    to.correction[0][t] = -offset * first;
    to.correction[1][t] = -offset * (sum - first);
  }
}

template <class V, class F, int kTokens>
void pack(const float* x, int num_cols, std::byte* to) {
  if constexpr (FloatsFormat<F>) {
    auto* tile = reinterpret_cast<float*>(to);  // [num_cols, kTokens]
    for (int c = 0; c < num_cols; ++c) {
      for (int t = 0; t < kTokens; ++t) tile[std::int64_t{c} * kTokens + t] = x[std::int64_t{t} * num_cols + c];
    }
  } else {
    auto* tile = reinterpret_cast<TileOf<F, kTokens>*>(to);
    for (int b = 0; b < num_cols / kBlock; ++b) {
      for (int t = 0; t < kTokens; ++t) {
        quantize(x + std::int64_t{t} * num_cols + b * kBlock, kOffset<V, F>, tile[b], t);
      }
    }
  }
}

// ---- The first tile over a group reads it from memory, as fast as that gives it ----

// What the processor fetches ahead by itself ends with a page of 4 KiB: this reaches into the next one.
constexpr int kPrefetchAhead = 4096;

// Into the second-level cache where it has to run far ahead of one slow chain of sums, as it does for floats: the first
// level waits for few lines at once.
template <int kBytes, auto kHint>  // the type of _MM_HINT_T0 differs between compilers
INFEROSCOPE_SIMD void prefetch(const std::byte* from) {
  for (int i = 0; i < kBytes; i += 64) _mm_prefetch(from + kPrefetchAhead + i, kHint);
}

// ---- Tiles: kParts vectors of rows from vector `part` of a group on, times kTokens tokens ----

template <class V, class F>
INFEROSCOPE_SIMD typename V::Floats loadElements(const std::byte* from) {
  if constexpr (std::is_same_v<F, quant::F32>) {
    return V::loadFloats(from);
  } else if constexpr (std::is_same_v<F, quant::BF16>) {
    return V::loadUpperHalves(from);
  } else {
    return V::loadHalves(from);
  }
}

template <class V, FloatsFormat F, int kParts, int kTokens>
INFEROSCOPE_SIMD void sumTile(const std::byte* group, int part, int num_cols, const std::byte* tile, bool is_first,
                              typename V::Floats (&sums)[kParts][kTokens]) {
  constexpr int kPartBytes = V::kLanes * sizeof(typename F::Block);
  const auto* x = reinterpret_cast<const float*>(tile);
  constexpr int kColumnBytes = kGroupRows * sizeof(typename F::Block);
  group += part * kPartBytes;
  for (int c = 0; c < num_cols; ++c, x += kTokens, group += kColumnBytes) {
    if (is_first) prefetch<kColumnBytes, _MM_HINT_T1>(group);
    typename V::Floats w[kParts];
    for (int p = 0; p < kParts; ++p) w[p] = loadElements<V, F>(group + p * kPartBytes);
    for (int t = 0; t < kTokens; ++t) {
      const typename V::Floats value = V::broadcast(x + t);
      for (int p = 0; p < kParts; ++p) sums[p][t] = V::multiplyAdd(w[p], value, sums[p][t]);
    }
  }
}

// Adds 32 columns: integer dots, then for each scale, and a min, an fp32 multiply-add.
template <class V, class W, int kTokens>
INFEROSCOPE_SIMD void sumColumns(const W& w, const ByteTile<kTokens, W::kNumScales>& x,
                                 typename V::Floats (&sums)[kTokens]) {
  constexpr int kNumWords = kBlock / 4 / W::kNumScales;
  for (int s = 0; s < W::kNumScales; ++s) {
    typename V::Ints dots[kTokens];
    for (int t = 0; t < kTokens; ++t) dots[t] = V::template start<W::kBytes>(&x.correction[s][t]);
    for (int i = s * kNumWords; i < (s + 1) * kNumWords; ++i) {
      const typename V::Ints bytes = w.word(i);
      for (int t = 0; t < kTokens; ++t) dots[t] = V::template dot<W::kBytes>(dots[t], bytes, x.q[t] + 4 * i);
    }
    const typename V::Floats scale = w.scale(s);
    for (int t = 0; t < kTokens; ++t) {
      const typename V::Floats dot = V::toFloats(V::template finish<W::kBytes>(dots[t], &x.correction[s][t]));
      sums[t] = V::multiplyAdd(V::multiply(dot, scale), V::broadcast(&x.scale[t]), sums[t]);
    }
  }
  if constexpr (W::kHasMin) {
    const typename V::Floats min = w.min();
    for (int t = 0; t < kTokens; ++t) sums[t] = V::multiplyAdd(min, V::broadcast(&x.sum[t]), sums[t]);
  }
}

template <class V, BlocksFormat F, int kParts, int kTokens>
INFEROSCOPE_SIMD void sumTile(const std::byte* group, int part, int num_cols, const std::byte* tile, bool is_first,
                              typename V::Floats (&sums)[kParts][kTokens]) {
  const auto* x = reinterpret_cast<const TileOf<F, kTokens>*>(tile);
  constexpr int kBlockBytes = kGroupRows * sizeof(typename F::Block);
  for (int b = 0; b < num_cols / F::kBlockElems; ++b, group += kBlockBytes) {
    if (is_first) prefetch<kBlockBytes, _MM_HINT_T0>(group);
    [&]<int... kColumns>(std::integer_sequence<int, kColumns...>) {
      const auto add = [&]<int kPart>() {
        for (int p = 0; p < kParts; ++p) {
          const Columns<V, F, kPart> w{Fields<V, F>(group, (part + p) * V::kLanes)};
          sumColumns<V>(w, x[kPart], sums[p]);
        }
      };
      (add.template operator()<kColumns>(), ...);
    }
    (std::make_integer_sequence<int, F::kBlockElems / kBlock>{});
    x += F::kBlockElems / kBlock;
  }
}

template <class V>
INFEROSCOPE_SIMD void storeRows(typename V::Floats v, int num_rows, float* to) {
  if (num_rows >= V::kLanes) {
    V::store(to, v);
  } else if (num_rows > 0) {
    alignas(64) float rows[V::kLanes];
    V::store(rows, v);
    std::memcpy(to, rows, static_cast<std::size_t>(num_rows) * sizeof(float));
  }
}

template <class V, class F, int kParts, int kTokens>
void runTile(const GroupPanel& panel, int group, int part, int token) {
  typename V::Floats sums[kParts][kTokens];
  for (auto& of_part : sums) {
    for (auto& sum : of_part) sum = V::zeros();
  }
  const std::byte* tile = panel.x + token * panel.x_token_bytes;
  sumTile<V, F>(panel.groups + group * panel.group_bytes, part, panel.num_cols, tile, token == 0 && part == 0, sums);
  for (int p = 0; p < kParts; ++p) {
    const int row = group * kGroupRows + (part + p) * V::kLanes;
    for (int t = 0; t < kTokens; ++t) {
      storeRows<V>(sums[p][t], panel.num_rows - row, panel.out + (token + t) * panel.out_stride + row);
    }
  }
}

// ---- Panels ----

// A tile of tokens stays in the first-level cache while the groups of the panel pass by.
template <class V, class F, int kTokens>
void runTokens(const GroupPanel& panel, int token) {
  constexpr int kGroupParts = kGroupRows / V::kLanes;
  // One token reads a group once from end to end; more of them need the registers for their sums.
  constexpr int kParts = kTokens == 1 ? kGroupParts : FloatsFormat<F> ? V::kFloatTileParts : 1;
  for (int group = 0; group * kGroupRows < panel.num_rows; ++group) {
    for (int part = 0; part < kGroupParts; part += kParts) runTile<V, F, kParts, kTokens>(panel, group, part, token);
  }
}

// Calls call(tokens as a constant) for the size that it is.
template <class V, class F, class Call>
void withSize(int size, const Call& call) {
  const auto try_size = [&](auto constant) {
    if constexpr (constant() <= kTileTokens<V, F>) {
      if (size == constant()) call(constant);
    }
  };
  [&]<std::size_t... is>(std::index_sequence<is...>) {
    (try_size(std::integral_constant<int, kTileSizes[is]>{}), ...);
  }
  (std::make_index_sequence<std::size(kTileSizes)>{});
}

template <class V, class F>
void runPanel(const GroupPanel& panel) {
  for (int token = 0; token < panel.num_tokens;) {
    const int size = tileSize<V, F>(panel.num_tokens - token);
    withSize<V, F>(size, [&](auto constant) { runTokens<V, F, constant()>(panel, token); });
    token += size;
  }
}

template <class V, class F>
int packTile(const float* x, int num_tokens, int num_cols, std::byte* to) {
  const int size = tileSize<V, F>(num_tokens);
  withSize<V, F>(size, [&](auto constant) { pack<V, F, constant()>(x, num_cols, to); });
  return size;
}

template <class F>
constexpr int blockTokenBytes() {
  if constexpr (FloatsFormat<F>) {
    return sizeof(float);
  } else {
    static_assert(sizeof(TileOf<F, 12>) == 12 * sizeof(TileOf<F, 1>));
    return sizeof(TileOf<F, 1>);
  }
}

template <class V, class F>
void findIn(FormatId format, GroupLinear& found) {
  if constexpr (FloatsFormat<F> || BlocksFormat<F>) {
    if (format != F::kId) return;
    found = {.run = runPanel<V, F>,
             .packTile = packTile<V, F>,
             .most_tokens = kTileTokens<V, F>,
             .block_token_bytes = blockTokenBytes<F>(),
             .block_cols = FloatsFormat<F> ? 1 : kBlock,
             .dots_bytes = BlocksFormat<F>};
  }
}

template <class V, class... Fs>
GroupLinear groupLinearFor(FormatId format, quant::FormatList<Fs...>) {
  GroupLinear found;
  (findIn<V, Fs>(format, found), ...);
  return found;
}

}  // namespace
}  // namespace inferoscope::kernels::cpu
