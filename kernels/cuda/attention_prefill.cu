// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/attention_prefill.h"

#include "kernels/cuda/paged.h"

#include <algorithm>

namespace inferoscope::kernels::cuda {
namespace {

constexpr int kWarps = 4;  // each has 16 queries of the tile
constexpr int kThreads = 32 * kWarps;
constexpr int kTokens = 64;  // keys and values in shared memory at once
constexpr float kLog2E = 1.44269504F;
static_assert(kPrefillQueries == 16 * kWarps);

// Rows are longer than kDim by 16 bytes, so that the eight rows that are loaded at once lie in different banks.
template <int kDim>
struct Tile {
  static constexpr int kStride = kDim + 8;
  std::uint16_t* halves;
  GPU_MEMBER std::uint16_t* at(int row, int dim) const { return halves + row * kStride + dim; }
};

template <int kDim>
GPU_DEVICE void loadQueries(Tile<kDim> to, const float* q, const PrefillTile& tile, int num_heads, int head) {
  constexpr int kPieces = kDim / 8;
  for (auto i = static_cast<int>(threadIdx.x); i < kPrefillQueries * kPieces; i += kThreads) {
    const int row = i / kPieces;
    const int dim = i % kPieces * 8;
    uint4 piece{0, 0, 0, 0};
    if (row < tile.num_queries) {
      const float* from = q + (std::int64_t{tile.token + row} * num_heads + head) * kDim + dim;
      piece = {packHalves(from[0], from[1]), packHalves(from[2], from[3]), packHalves(from[4], from[5]),
               packHalves(from[6], from[7])};
    }
    *reinterpret_cast<uint4*>(to.at(row, dim)) = piece;
  }
}

// Tokens first .. first + kTokens - 1 of keys or values; those from `end` on are zero.
template <int kDim, std::uint32_t kFormat>
GPU_DEVICE void loadTokens(Tile<kDim> to, const std::byte* cache, const DeviceKv& kv, int seq, int kv_head, int first,
                           int end) {
  constexpr int kPieces = kDim / 8;
  for (auto i = static_cast<int>(threadIdx.x); i < kTokens * kPieces; i += kThreads) {
    const int row = i / kPieces;
    const int dim = i % kPieces * 8;
    const bool exists = first + row < end;
    const std::byte* vector = exists ? cache + slotOffset(kv, seq, first + row, kv_head) : cache;
    if constexpr (kFormat == kKvF16) {
      copyAsync16(to.at(row, dim), vector + 2 * dim, exists ? 16 : 0);
    } else {
      float v[8] = {};
      if (exists) loadKv8<kFormat>(vector, dim, v);
      *reinterpret_cast<uint4*>(to.at(row, dim)) = {packHalves(v[0], v[1]), packHalves(v[2], v[3]),
                                                    packHalves(v[4], v[5]), packHalves(v[6], v[7])};
    }
  }
  commitCopies();
}

// A warp's 16 queries: lane holds rows lane / 4 and that + 8 (index 0 and 1), and of each tile of 8 columns two.
template <int kDim>
struct WarpState {
  std::uint32_t q[kDim / 16][4];
  float o[kDim / 8][4];
  float m[2];  // of scores times log2(e)
  float d[2];  // this lane's share
};

template <int kDim>
GPU_DEVICE void multiplyKeys(float (&scores)[kTokens / 8][4], const WarpState<kDim>& state, Tile<kDim> keys, int lane) {
  GPU_UNROLL
  for (int pair = 0; pair < kTokens / 16; ++pair) {
    GPU_UNROLL
    for (int i = 0; i < 4; ++i) scores[2 * pair][i] = scores[2 * pair + 1][i] = 0.0F;
    GPU_UNROLL
    for (int k = 0; k < kDim / 16; ++k) {
      std::uint32_t b[4];
      loadMatrices(b, keys.at(16 * pair + lane % 8 + lane / 16 * 8, 16 * k + lane / 8 % 2 * 8));
      multiplyAdd(scores[2 * pair], state.q[k], b[0], b[1]);
      multiplyAdd(scores[2 * pair + 1], state.q[k], b[2], b[3]);
    }
  }
}

template <int kDim>
GPU_DEVICE void multiplyValues(WarpState<kDim>& state, const float (&weights)[kTokens / 8][4], Tile<kDim> values,
                               int lane) {
  GPU_UNROLL
  for (int k = 0; k < kTokens / 16; ++k) {
    const std::uint32_t a[4] = {packHalves(weights[2 * k][0], weights[2 * k][1]),
                                packHalves(weights[2 * k][2], weights[2 * k][3]),
                                packHalves(weights[2 * k + 1][0], weights[2 * k + 1][1]),
                                packHalves(weights[2 * k + 1][2], weights[2 * k + 1][3])};
    GPU_UNROLL
    for (int pair = 0; pair < kDim / 16; ++pair) {
      std::uint32_t b[4];
      loadMatricesTransposed(b, values.at(16 * k + lane % 16, 16 * pair + lane / 16 * 8));
      multiplyAdd(state.o[2 * pair], a, b[0], b[1]);
      multiplyAdd(state.o[2 * pair + 1], a, b[2], b[3]);
    }
  }
}

// Scores become weights relative to the largest so far; `visible` tokens from the first of the tile on count.
template <int kDim>
GPU_DEVICE void softmax(WarpState<kDim>& state, float (&scores)[kTokens / 8][4], float scale_log2, int visible0,
                        int lane) {
  GPU_UNROLL
  for (int half = 0; half < 2; ++half) {
    const int visible = visible0 + 8 * half;
    float largest = state.m[half];
    GPU_UNROLL
    for (int n = 0; n < kTokens / 8; ++n) {
      GPU_UNROLL
      for (int i = 0; i < 2; ++i) {
        float& score = scores[n][2 * half + i];
        score = 8 * n + lane % 4 * 2 + i < visible ? score * scale_log2 : -INFINITY;
        largest = fmaxf(largest, score);
      }
    }
    largest = fmaxf(largest, shuffleXor(largest, 1));
    largest = fmaxf(largest, shuffleXor(largest, 2));
    const float base = largest == -INFINITY ? 0.0F : largest;  // nothing seen yet: all weights are zero
    const float factor = exp2f(state.m[half] - base);
    state.m[half] = largest;
    state.d[half] *= factor;
    GPU_UNROLL
    for (int n = 0; n < kTokens / 8; ++n) {
      GPU_UNROLL
      for (int i = 0; i < 2; ++i) {
        float& score = scores[n][2 * half + i];
        score = exp2f(score - base);
        state.d[half] += score;
      }
    }
    GPU_UNROLL
    for (int n = 0; n < kDim / 8; ++n) {
      state.o[n][2 * half] *= factor;
      state.o[n][2 * half + 1] *= factor;
    }
  }
}

template <int kDim>
GPU_DEVICE void storeRows(const WarpState<kDim>& state, const PrefillTile& tile, int first_row, int lane, int num_heads,
                          int head, float* out) {
  GPU_UNROLL
  for (int half = 0; half < 2; ++half) {
    float d = state.d[half];
    d += shuffleXor(d, 1);
    d += shuffleXor(d, 2);
    const float inverse = d == 0.0F ? 0.0F : 1.0F / d;
    const int row = first_row + lane / 4 + 8 * half;
    if (row >= tile.num_queries) continue;
    float* to = out + (std::int64_t{tile.token + row} * num_heads + head) * kDim + lane % 4 * 2;
    GPU_UNROLL
    for (int n = 0; n < kDim / 8; ++n) {
      *reinterpret_cast<float2*>(to + 8 * n) = {state.o[n][2 * half] * inverse, state.o[n][2 * half + 1] * inverse};
    }
  }
}

// grid: [tiles, heads]. While scores are computed the values arrive, while values are summed the next keys.
template <int kDim, std::uint32_t kFormat>
GPU_KERNEL void prefill(const float* q, DeviceKv kv, const PrefillTile* tiles, int num_heads, float scale, float* out) {
  GPU_DYNAMIC_SHARED(std::uint16_t, shared);
  constexpr int kStride = Tile<kDim>::kStride;
  const Tile<kDim> queries{shared};
  const Tile<kDim> keys{shared + kPrefillQueries * kStride};
  const Tile<kDim> values{shared + (kPrefillQueries + kTokens) * kStride};
  const PrefillTile tile = tiles[blockIdx.x];
  const auto head = static_cast<int>(blockIdx.y);
  const int kv_head = head / (num_heads / kv.num_kv_heads);
  const int end = tile.first_visible + tile.num_queries - 1;  // tokens that the last query sees
  const auto lane = static_cast<int>(threadIdx.x % 32);
  const int first_row = static_cast<int>(threadIdx.x / 32) * 16;

  loadTokens<kDim, kFormat>(keys, kv.keys, kv, tile.seq, kv_head, 0, end);
  loadQueries<kDim>(queries, q, tile, num_heads, head);
  syncBlock();
  WarpState<kDim> state{};
  state.m[0] = state.m[1] = -INFINITY;
  GPU_UNROLL
  for (int k = 0; k < kDim / 16; ++k) {
    loadMatrices(state.q[k], queries.at(first_row + lane % 16, 16 * k + lane / 16 * 8));
  }
  for (int first = 0; first < end; first += kTokens) {
    loadTokens<kDim, kFormat>(values, kv.values, kv, tile.seq, kv_head, first, end);
    waitCopies<1>();
    syncBlock();  // the keys are there
    float scores[kTokens / 8][4];
    multiplyKeys<kDim>(scores, state, keys, lane);
    syncBlock();  // the keys may be overwritten
    loadTokens<kDim, kFormat>(keys, kv.keys, kv, tile.seq, kv_head, first + kTokens, end);
    softmax<kDim>(state, scores, scale * kLog2E, tile.first_visible + first_row + lane / 4 - first, lane);
    waitCopies<1>();
    syncBlock();  // the values are there
    multiplyValues<kDim>(state, scores, values, lane);
    syncBlock();  // the values may be overwritten
  }
  waitCopies<0>();
  storeRows<kDim>(state, tile, first_row, lane, num_heads, head, out);
}

template <int kDim>
void launchPrefill(const AttentionArgs& args, const std::vector<PrefillTile>& tiles, DeviceQueue& queue) {
  const DeviceKv kv = onDevice(queue, args.kv);
  const PrefillTile* staged = queue.stage(tiles);
  const Dim3 grid(static_cast<unsigned>(tiles.size()), static_cast<unsigned>(args.num_heads));
  const std::size_t shared_bytes = sizeof(std::uint16_t) * (kPrefillQueries + 2 * kTokens) * Tile<kDim>::kStride;
  forKvFormat(args.kv.format, [&](auto format) {
    queue.launch(prefill<kDim, decltype(format)::value>, grid, Dim3(kThreads), shared_bytes, args.q, kv, staged,
                 args.num_heads, args.scale, args.out);
  });
}

}  // namespace

bool canPrefill(int head_dim) {
  return head_dim == 64 || head_dim == 80 || head_dim == 128;
}

void runPrefill(const AttentionArgs& args, const std::vector<PrefillTile>& tiles, DeviceQueue& queue) {
  if (tiles.empty()) return;
  switch (args.kv.head_dim) {
    case 64:
      return launchPrefill<64>(args, tiles, queue);
    case 80:
      return launchPrefill<80>(args, tiles, queue);
    default:
      return launchPrefill<128>(args, tiles, queue);
  }
}

}  // namespace inferoscope::kernels::cuda
