// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/linear_avx2.h"

#include "kernels/cpu/simd_avx2.h"

namespace inferoscope::kernels::cpu {
namespace {

// Activations that stay in the first-level cache while the rows of a panel pass by.
constexpr std::int64_t kSweepBytes = 24 << 10;
constexpr std::int64_t kBlock = 32;

template <class F>
const typename F::Block* rowOf(const LinearPanel& panel, int row) {
  return reinterpret_cast<const typename F::Block*>(panel.w) + std::int64_t{row} * (panel.num_cols / F::kBlockElems);
}

template <int kRows, int kTokens>
INFEROSCOPE_SIMD void clear(__m256 (&sums)[kRows][kTokens]) {
  for (auto& of_row : sums) {
    for (__m256& sum : of_row) sum = _mm256_setzero_ps();
  }
}

template <int kRows, int kTokens>
INFEROSCOPE_SIMD void store(const __m256 (&sums)[kRows][kTokens], const LinearPanel& panel, int row, int token) {
  for (int t = 0; t < kTokens; ++t) {
    for (int r = 0; r < kRows; ++r) panel.out[(token + t) * panel.out_stride + row + r] = sumOf(sums[r][t]);
  }
}

// ---- F32, F16: fp32 multiply-adds, 8 columns at once ----

// kRows x kTokens outputs in registers: a weight is loaded once for all tokens of the tile.
template <PlainFormat F, int kRows, int kTokens>
INFEROSCOPE_SIMD void runTile(const LinearPanel& panel, int row, int token) {
  const typename F::Block* w[kRows];
  const float* x[kTokens];
  __m256 sums[kRows][kTokens];
  for (int r = 0; r < kRows; ++r) w[r] = rowOf<F>(panel, row + r);
  for (int t = 0; t < kTokens; ++t) x[t] = reinterpret_cast<const float*>(panel.x + (token + t) * panel.x_bytes);
  clear(sums);

  const int whole = panel.num_cols / 8 * 8;
  for (int c = 0; c < whole; c += 8) {
    __m256 weights[kRows];
    for (int r = 0; r < kRows; ++r) weights[r] = F::load8(w[r] + c);
    for (int t = 0; t < kTokens; ++t) {
      const __m256 values = _mm256_loadu_ps(x[t] + c);
      for (int r = 0; r < kRows; ++r) sums[r][t] = _mm256_fmadd_ps(weights[r], values, sums[r][t]);
    }
  }
  if (const int rest = panel.num_cols - whole; rest > 0) {
    for (int r = 0; r < kRows; ++r) {
      const __m256 weights = loadFirst<F>(w[r] + whole, rest);
      for (int t = 0; t < kTokens; ++t) {
        sums[r][t] = _mm256_fmadd_ps(weights, loadFirst<quant::F32>(x[t] + whole, rest), sums[r][t]);
      }
    }
  }
  store(sums, panel, row, token);
}

// ---- Blocks of bytes: integer dots, one fp32 multiply-add a block and lane ----

// A token's activations in blocks of 32: x = scale * q. Lane i of `sums` is scale times the sum of the bytes that
// lane i of an integer dot covers: times a weight block's min it is what that adds.
struct QuantizedRow {
  QuantizedRow(std::byte* begin, int num_cols)
      : q(reinterpret_cast<std::int8_t*>(begin)),
        sums(reinterpret_cast<float*>(begin + num_cols)),
        scales(sums + num_cols / kBlock * 8) {}

  std::int8_t* q;  // [num_cols]
  float* sums;     // [num_cols / 32, 8]
  float* scales;   // [num_cols / 32]
};

template <ByteFormat F, int kRows, int kTokens>
INFEROSCOPE_SIMD void runTile(const LinearPanel& panel, int row, int token) {
  const typename F::Block* w[kRows];
  const std::int8_t* q[kTokens];
  const float* x_sums[kTokens];
  const float* x_scales[kTokens];
  __m256 sums[kRows][kTokens];
  for (int r = 0; r < kRows; ++r) w[r] = rowOf<F>(panel, row + r);
  for (int t = 0; t < kTokens; ++t) {
    const QuantizedRow x(const_cast<std::byte*>(panel.x) + (token + t) * panel.x_bytes, panel.num_cols);
    q[t] = x.q;
    x_sums[t] = x.sums;
    x_scales[t] = x.scales;
  }
  clear(sums);

  const std::int64_t num_blocks = panel.num_cols / kBlock;
  for (std::int64_t b = 0; b < num_blocks; ++b) {
    for (int r = 0; r < kRows; ++r) {
      const __m256i bytes = F::loadBytes(w[r][b]);
      const __m128 scale_and_min = F::loadScaleAndMin(w[r][b]);
      const __m256 scale = _mm256_broadcastss_ps(scale_and_min);
      for (int t = 0; t < kTokens; ++t) {
        const __m256i x = _mm256_load_si256(reinterpret_cast<const __m256i*>(q[t] + b * kBlock));
        const __m256 both_scales = _mm256_mul_ps(scale, _mm256_broadcast_ss(x_scales[t] + b));
        if constexpr (F::kSignedBytes) {
          // The unsigned operand takes |w|, the signed one x with w's sign.
          const __m256i dot = dotUnsigned(_mm256_abs_epi8(bytes), _mm256_sign_epi8(x, bytes));
          sums[r][t] = _mm256_fmadd_ps(both_scales, _mm256_cvtepi32_ps(dot), sums[r][t]);
        } else {
          const __m256 min = _mm256_broadcastss_ps(_mm_movehdup_ps(scale_and_min));
          const __m256i dot = dotUnsigned(bytes, x);
          sums[r][t] = _mm256_fmadd_ps(both_scales, _mm256_cvtepi32_ps(dot), sums[r][t]);
          sums[r][t] = _mm256_fmadd_ps(min, _mm256_load_ps(x_sums[t] + b * 8), sums[r][t]);
        }
      }
    }
  }
  store(sums, panel, row, token);
}

// ---- Tiles over a panel ----

template <class F, int kRows>
void runTokens(const LinearPanel& panel, int row, int begin, int end) {
  int t = begin;
  for (; t + 4 <= end; t += 4) runTile<F, kRows, 4>(panel, row, t);
  switch (end - t) {
    case 1:
      runTile<F, kRows, 1>(panel, row, t);
      break;
    case 2:
      runTile<F, kRows, 2>(panel, row, t);
      break;
    case 3:
      runTile<F, kRows, 3>(panel, row, t);
      break;
    default:
      break;
  }
}

template <class F, int kRows>
void runRows(const LinearPanel& panel, int begin_token, int end_token) {
  int row = 0;
  for (; row + kRows <= panel.num_rows; row += kRows) runTokens<F, kRows>(panel, row, begin_token, end_token);
  for (; row < panel.num_rows; ++row) runTokens<F, 1>(panel, row, begin_token, end_token);
}

template <class F>
void runPanel(const LinearPanel& panel) {
  constexpr int kTileRows = PlainFormat<F> ? 3 : 2;  // with 4 tokens the sums fill the registers
  constexpr int kRowsOfOneToken = 4;                 // a single token's sums are too few to keep the units busy
  if (panel.num_tokens == 1) {
    runRows<F, kRowsOfOneToken>(panel, 0, 1);
    return;
  }
  const std::int64_t tiles = kSweepBytes / (4 * panel.x_bytes);
  const int sweep = 4 * static_cast<int>(tiles > 1 ? tiles : 1);
  for (int begin = 0; begin < panel.num_tokens; begin += sweep) {
    const int rest = panel.num_tokens - begin;
    runRows<F, kTileRows>(panel, begin, begin + (rest < sweep ? rest : sweep));
  }
}

template <class F>
void addIfMatches(FormatId format, LinearAvx2& found) {
  if constexpr (PlainFormat<F> || ByteFormat<F>) {
    if (format == F::kId) found = {runPanel<F>, ByteFormat<F>};
  }
}

template <class... Fs>
LinearAvx2 find(FormatId format, quant::FormatList<Fs...>) {
  LinearAvx2 found;
  (addIfMatches<Fs>(format, found), ...);
  return found;
}

}  // namespace

LinearAvx2 linearAvx2For(FormatId format) {
  return find(format, quant::AllFormats{});
}

std::int64_t quantizedRowBytes(int num_cols) {
  const std::int64_t num_blocks = num_cols / kBlock;
  return (num_blocks * (kBlock + 8 * 4 + 4) + 63) / 64 * 64;
}

void quantizeRowAvx2(const float* x, int num_cols, std::byte* out) {
  const QuantizedRow row(out, num_cols);
  for (std::int64_t b = 0; b < num_cols / kBlock; ++b) {
    __m256 v[4];
    __m256 largest = _mm256_setzero_ps();
    __m256 any_nan = _mm256_setzero_ps();
    for (int i = 0; i < 4; ++i) {
      v[i] = _mm256_loadu_ps(x + b * kBlock + i * 8);
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
    const __m256i lane_sums = dotUnsigned(_mm256_set1_epi8(1), q);
    _mm256_store_si256(reinterpret_cast<__m256i*>(row.q + b * kBlock), q);
    _mm256_store_ps(row.sums + b * 8, _mm256_mul_ps(_mm256_set1_ps(scale), _mm256_cvtepi32_ps(lane_sums)));
    row.scales[b] = scale;
  }
}

}  // namespace inferoscope::kernels::cpu
