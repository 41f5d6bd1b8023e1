// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/attention_decode.h"

#include "kernels/cuda/paged.h"
#include "kernels/online_softmax.h"

#include <algorithm>
#include <bit>

namespace inferoscope::kernels::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kAhead = 4;  // tokens whose loads are in flight at once
constexpr int kCombineThreads = 64;

struct DecodeShape {
  int num_heads;
  int group;  // query heads of a key-value head
  int lanes;  // that share a token, eight elements each: a power of two
  float scale;
};

// Several query heads' running softmax over the tokens that one team of lanes saw; eight elements of each head's sum.
template <int kHeads>
struct TeamState {
  float m[kHeads];
  float d[kHeads];
  float o[kHeads][8];
};

// One batch of kAhead tokens, `stride` apart. Tokens at `end` and behind do not exist.
template <int kHeads, std::uint32_t kFormat>
GPU_DEVICE void attendTokens(TeamState<kHeads>& state, const float (&q)[kHeads][8], const DeviceKv& kv, int seq,
                             int kv_head, int first, int stride, int end, int dim0, int lanes) {
  std::int64_t offsets[kAhead];
  float scores[kAhead][kHeads] = {};
  GPU_UNROLL
  for (int t = 0; t < kAhead; ++t) {
    const int position = first + t * stride;
    offsets[t] = position < end && dim0 < kv.head_dim ? slotOffset(kv, seq, position, kv_head) : -1;
    float key[8] = {};
    if (offsets[t] >= 0) loadKv8<kFormat>(kv.keys + offsets[t], dim0, key);
    GPU_UNROLL
    for (int h = 0; h < kHeads; ++h) {
      GPU_UNROLL
      for (int i = 0; i < 8; ++i) scores[t][h] += q[h][i] * key[i];
    }
  }
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    GPU_UNROLL
    for (int t = 0; t < kAhead; ++t) {
      GPU_UNROLL
      for (int h = 0; h < kHeads; ++h) scores[t][h] += shuffleXor(scores[t][h], distance);
    }
  }
  float factors[kHeads];
  GPU_UNROLL
  for (int h = 0; h < kHeads; ++h) {
    float largest = state.m[h];
    GPU_UNROLL
    for (int t = 0; t < kAhead; ++t) {
      if (first + t * stride >= end) scores[t][h] = -INFINITY;
      if (!(scores[t][h] <= largest) && largest == largest) largest = scores[t][h];  // unlike fmaxf's, NaN stays
    }
    // Nothing seen yet: any finite number will do, for then all weights are zero.
    const float base = largest == -INFINITY ? 0.0F : largest;
    factors[h] = expf(state.m[h] - base);
    state.m[h] = largest;
    state.d[h] *= factors[h];
    GPU_UNROLL
    for (int t = 0; t < kAhead; ++t) {
      scores[t][h] = expf(scores[t][h] - base);
      state.d[h] += scores[t][h];
    }
    GPU_UNROLL
    for (int i = 0; i < 8; ++i) state.o[h][i] *= factors[h];
  }
  GPU_UNROLL
  for (int t = 0; t < kAhead; ++t) {
    if (offsets[t] < 0) continue;
    float value[8];
    loadKv8<kFormat>(kv.values + offsets[t], dim0, value);
    GPU_UNROLL
    for (int h = 0; h < kHeads; ++h) {
      GPU_UNROLL
      for (int i = 0; i < 8; ++i) state.o[h][i] += scores[t][h] * value[i];
    }
  }
}

// grid: [parts, key-value heads * chunks of kHeads of the group].
template <int kHeads, std::uint32_t kFormat>
GPU_KERNEL void attendPart(const float* q, DeviceKv kv, const DecodePart* parts, DecodeShape shape, float* sums,
                           float2* states) {
  GPU_DYNAMIC_SHARED(float, shared);  // [teams][kHeads][2 + head_dim]: m, d, o
  const DecodePart part = parts[blockIdx.x];
  if (part.begin == part.end) return;
  const int num_chunks = (shape.group + kHeads - 1) / kHeads;
  const auto kv_head = static_cast<int>(blockIdx.y) / num_chunks;
  const int head0 = kv_head * shape.group + static_cast<int>(blockIdx.y) % num_chunks * kHeads;
  const int left = (kv_head + 1) * shape.group - head0;
  const int num_heads = left < kHeads ? left : kHeads;

  const auto thread = static_cast<int>(threadIdx.x);
  const int team = thread / shape.lanes;
  const int num_teams = 32 * kWarps / shape.lanes;
  const int dim0 = thread % shape.lanes * 8;

  float query[kHeads][8] = {};
  TeamState<kHeads> state{};
  GPU_UNROLL
  for (int h = 0; h < kHeads; ++h) {
    state.m[h] = -INFINITY;
    if (h < num_heads && dim0 < kv.head_dim) {
      const float* from = q + (std::int64_t{part.token} * shape.num_heads + head0 + h) * kv.head_dim + dim0;
      GPU_UNROLL
      for (int i = 0; i < 8; ++i) query[h][i] = from[i] * shape.scale;
    }
  }
  for (int begin = part.begin; begin < part.end; begin += num_teams * kAhead) {
    attendTokens<kHeads, kFormat>(state, query, kv, part.seq, kv_head, begin + team, num_teams, part.end, dim0,
                                  shape.lanes);
  }

  const int row = 2 + kv.head_dim;
  GPU_UNROLL
  for (int h = 0; h < kHeads; ++h) {
    float* to = shared + (team * kHeads + h) * row;
    if (dim0 == 0) to[0] = state.m[h], to[1] = state.d[h];
    if (dim0 >= kv.head_dim) continue;
    GPU_UNROLL
    for (int i = 0; i < 8; ++i) to[2 + dim0 + i] = state.o[h][i];
  }
  syncBlock();

  for (int i = thread; i < num_heads * kv.head_dim; i += 32 * kWarps) {
    const int head = i / kv.head_dim;
    const int dim = i % kv.head_dim;
    OnlineSoftmax total;
    float o = 0.0F;
    for (int t = 0; t < num_teams; ++t) {
      const float* from = shared + (t * kHeads + head) * row;
      push(total, &o, 1, from[0], from + 2 + dim, from[1]);
    }
    const std::int64_t out_row = std::int64_t{blockIdx.x} * shape.num_heads + head0 + head;
    sums[out_row * kv.head_dim + dim] = o;
    if (dim == 0) states[out_row] = {total.m, total.d};
  }
}

// grid: [queries, heads]. Parts are merged in the order of the cache.
GPU_KERNEL void combineParts(const DecodeQuery* queries, const float* sums, const float2* states, int num_heads,
                             int head_dim, float* out) {
  const DecodeQuery query = queries[blockIdx.x];
  const auto head = static_cast<int>(blockIdx.y);
  for (auto dim = static_cast<int>(threadIdx.x); dim < head_dim; dim += kCombineThreads) {
    OnlineSoftmax total;
    float o = 0.0F;
    for (int p = query.first; p < query.first + query.count; ++p) {
      const std::int64_t row = std::int64_t{p} * num_heads + head;
      push(total, &o, 1, states[row].x, sums + row * head_dim + dim, states[row].y);
    }
    normalize(total, &o, 1);
    out[(std::int64_t{query.token} * num_heads + head) * head_dim + dim] = o;
  }
}

int lanesFor(int head_dim) {
  int lanes = 1;
  while (lanes * 8 < head_dim) lanes *= 2;
  return lanes;
}

template <int kHeads>
void launchParts(const AttentionArgs& args, const DecodePlan& plan, float* sums, float2* states, DeviceQueue& queue) {
  const DeviceKv kv = onDevice(queue, args.kv);
  const DecodePart* parts = queue.stage(plan.parts);
  const int group = args.num_heads / kv.num_kv_heads;
  const DecodeShape shape{args.num_heads, group, lanesFor(kv.head_dim), args.scale};
  const Dim3 grid(static_cast<unsigned>(plan.parts.size()),
                  static_cast<unsigned>(kv.num_kv_heads * ceilDiv(group, kHeads)));
  const int num_teams = 32 * kWarps / shape.lanes;
  const std::size_t shared_bytes = sizeof(float) * num_teams * kHeads * (2 + kv.head_dim);
  forKvFormat(args.kv.format, [&](auto format) {
    queue.launch(attendPart<kHeads, decltype(format)::value>, grid, Dim3(32 * kWarps), shared_bytes, args.q, kv, parts,
                 shape, sums, states);
  });
}

}  // namespace

void planQuery(DecodePlan& plan, int token, int seq, int num_visible) {
  const auto first = static_cast<int>(plan.parts.size());
  for (int begin = 0; begin < num_visible; begin += kSplitTokens) {
    plan.parts.push_back({token, seq, begin, std::min(begin + kSplitTokens, num_visible)});
  }
  plan.queries.push_back({token, first, static_cast<int>(plan.parts.size()) - first});
}

void padParts(DecodePlan& plan) {
  if (!plan.parts.empty()) plan.parts.resize(std::bit_ceil(plan.parts.size()));
}

void takeDecodeScratch(Scratch& scratch, const AttentionArgs& args, const DecodePlan& plan, float*& sums,
                       float2*& states) {
  const std::int64_t rows = static_cast<std::int64_t>(plan.parts.size()) * args.num_heads;
  sums = scratch.take<float>(rows * args.kv.head_dim);
  states = scratch.take<float2>(rows);
}

void runDecode(const AttentionArgs& args, const DecodePlan& plan, float* sums, float2* states, DeviceQueue& queue) {
  if (plan.queries.empty()) return;
  if (!plan.parts.empty()) {
    const int group = args.num_heads / args.kv.num_kv_heads;
    if (group == 1) {
      launchParts<1>(args, plan, sums, states, queue);
    } else if (group == 2) {
      launchParts<2>(args, plan, sums, states, queue);
    } else if (group <= 4) {
      launchParts<4>(args, plan, sums, states, queue);
    } else {
      launchParts<8>(args, plan, sums, states, queue);
    }
  }
  const DecodeQuery* queries = queue.stage(plan.queries);
  const Dim3 grid(static_cast<unsigned>(plan.queries.size()), static_cast<unsigned>(args.num_heads));
  queue.launch(combineParts, grid, Dim3(kCombineThreads), 0, queries, sums, states, args.num_heads, args.kv.head_dim,
               args.out);
}

}  // namespace inferoscope::kernels::cuda
