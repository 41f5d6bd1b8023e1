// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/attention_decode.h"
#include "kernels/cuda/paged.h"
#include "kernels/op_costs.h"

#include <algorithm>

namespace inferoscope::kernels::cuda {
namespace {

// The way it was done before: gather keys and values, write a sequence's whole score matrix, make weights of it, read
// it back. What that moves is counted.
constexpr int kThreads = 256;

struct SeqShape {
  int seq;
  int token0;
  int q_len;
  int kv_len;
  int stride() const { return (kv_len + 7) / 8 * 8; }  // of a row of scores
};

SeqShape shapeOf(const AttentionArgs& args, int seq) {
  return {seq, args.q_starts[seq], args.q_starts[seq + 1] - args.q_starts[seq], args.kv.kv_lens[seq]};
}

// For one sequence; the next one uses the same.
struct Arrays {
  Arrays(const AttentionArgs& args, std::byte* begin) : scratch(begin) {
    std::int64_t num_queries = 0;
    std::int64_t num_cached = 0;
    std::int64_t num_scores = 0;
    for (int seq = 0; args.q_starts != nullptr && seq < args.kv.num_seqs; ++seq) {
      const SeqShape s = shapeOf(args, seq);
      if (s.q_len == 0) continue;
      num_queries = std::max(num_queries, std::int64_t{s.q_len} * args.num_heads);
      num_cached = std::max(num_cached, std::int64_t{s.kv_len} * args.kv.num_kv_heads);
      num_scores = std::max(num_scores, std::int64_t{s.q_len} * args.num_heads * s.stride());
    }
    queries = scratch.take<std::uint16_t>(num_queries * args.kv.head_dim);
    keys = scratch.take<std::uint16_t>(num_cached * args.kv.head_dim);
    values = scratch.take<std::uint16_t>(num_cached * args.kv.head_dim);
    scores = scratch.take<float>(num_scores);
    weights = scratch.take<std::uint16_t>(num_scores);
  }
  Scratch scratch;
  std::uint16_t* queries;  // [num_heads, q_len, head_dim]
  std::uint16_t* keys;     // [num_kv_heads, kv_len, head_dim]
  std::uint16_t* values;   // [num_kv_heads, kv_len, head_dim]
  float* scores;           // [num_heads, q_len, stride]
  std::uint16_t* weights;  // [num_heads, q_len, stride]
};

// grid: [q_len, num_heads]
GPU_KERNEL void gatherQueries(const float* q, int token0, int q_len, int num_heads, int head_dim, std::uint16_t* to) {
  const auto query = static_cast<int>(blockIdx.x);
  const auto head = static_cast<int>(blockIdx.y);
  const float* from = q + (std::int64_t{token0 + query} * num_heads + head) * head_dim;
  std::uint16_t* row = to + (std::int64_t{head} * q_len + query) * head_dim;
  for (auto i = static_cast<int>(threadIdx.x); i < head_dim; i += static_cast<int>(blockDim.x)) {
    row[i] = floatToHalfFast(from[i]);
  }
}

// grid: [kv_len, num_kv_heads]
template <std::uint32_t kFormat>
GPU_KERNEL void gatherCache(DeviceKv kv, int seq, int kv_len, std::uint16_t* keys, std::uint16_t* values) {
  const auto position = static_cast<int>(blockIdx.x);
  const auto head = static_cast<int>(blockIdx.y);
  const std::int64_t from = slotOffset(kv, seq, position, head);
  const std::int64_t to = (std::int64_t{head} * kv_len + position) * kv.head_dim;
  for (auto i = static_cast<int>(threadIdx.x) * 8; i < kv.head_dim; i += static_cast<int>(blockDim.x) * 8) {
    float key[8];
    float value[8];
    loadKv8<kFormat>(kv.keys + from, i, key);
    loadKv8<kFormat>(kv.values + from, i, value);
    for (int j = 0; j < 8; ++j) {
      keys[to + i + j] = floatToHalfFast(key[j]);
      values[to + i + j] = floatToHalfFast(value[j]);
    }
  }
}

// grid: [q_len, num_heads]. Weights of what is not visible are zero.
GPU_KERNEL void weightsOf(const float* scores, std::uint16_t* weights, int q_len, int kv_len, int stride) {
  const auto query = static_cast<int>(blockIdx.x);
  const std::int64_t row = (std::int64_t{blockIdx.y} * q_len + query) * stride;
  const int num_visible = kv_len - q_len + query + 1;
  const auto thread = static_cast<int>(threadIdx.x);
  float largest = -INFINITY;
  for (int i = thread; i < num_visible; i += kThreads) largest = fmaxf(largest, scores[row + i]);
  largest = blockMax(largest);
  float sum = 0.0F;
  for (int i = thread; i < num_visible; i += kThreads) sum += expf(scores[row + i] - largest);
  sum = blockSum(sum);
  for (int i = thread; i < stride; i += kThreads) {
    weights[row + i] = i < num_visible ? floatToHalfFast(expf(scores[row + i] - largest) / sum) : std::uint16_t{0};
  }
}

void attend(const AttentionArgs& args, const SeqShape& s, const Arrays& arrays, DeviceQueue& queue) {
  const DeviceKv kv = onDevice(queue, args.kv);
  const int dim = kv.head_dim;
  const int group = args.num_heads / kv.num_kv_heads;
  const Dim3 per_query(static_cast<unsigned>(s.q_len), static_cast<unsigned>(args.num_heads));
  const Dim3 per_token(static_cast<unsigned>(s.kv_len), static_cast<unsigned>(kv.num_kv_heads));
  queue.launch(gatherQueries, per_query, Dim3(32), 0, args.q, s.token0, s.q_len, args.num_heads, dim, arrays.queries);
  forKvFormat(args.kv.format, [&](auto format) {
    queue.launch(gatherCache<decltype(format)::value>, per_token, Dim3(32), 0, kv, s.seq, s.kv_len, arrays.keys,
                 arrays.values);
  });
  const std::int64_t head_scores = std::int64_t{s.q_len} * s.stride();
  for (int head = 0; head < kv.num_kv_heads; ++head) {
    queue.multiply({.transpose_a = true,
                    .m = s.kv_len,
                    .n = s.q_len,
                    .k = dim,
                    .alpha = args.scale,
                    .a = arrays.keys + std::int64_t{head} * s.kv_len * dim,
                    .lda = dim,
                    .b = arrays.queries + std::int64_t{head} * group * s.q_len * dim,
                    .ldb = dim,
                    .stride_b = std::int64_t{s.q_len} * dim,
                    .c = arrays.scores + head * group * head_scores,
                    .ldc = s.stride(),
                    .stride_c = head_scores,
                    .batch = group});
  }
  queue.launch(weightsOf, per_query, Dim3(kThreads), 0, arrays.scores, arrays.weights, s.q_len, s.kv_len, s.stride());
  for (int head = 0; head < kv.num_kv_heads; ++head) {
    queue.multiply({.m = dim,
                    .n = s.q_len,
                    .k = s.kv_len,
                    .a = arrays.values + std::int64_t{head} * s.kv_len * dim,
                    .lda = dim,
                    .b = arrays.weights + head * group * head_scores,
                    .ldb = s.stride(),
                    .stride_b = head_scores,
                    .c = args.out + (std::int64_t{s.token0} * args.num_heads + head * group) * dim,
                    .ldc = args.num_heads * dim,
                    .stride_c = dim,
                    .batch = group});
  }
}

void run(const AttentionArgs& args, const Exec& exec) {
  DeviceQueue& queue = DeviceQueue::of(exec);
  const Arrays arrays(args, exec.scratch.data());
  DecodePlan without_cache;
  for (int seq = 0; seq < args.kv.num_seqs; ++seq) {
    const SeqShape s = shapeOf(args, seq);
    if (s.q_len > 0 && s.kv_len > 0) attend(args, s, arrays, queue);
    for (int i = 0; s.kv_len == 0 && i < s.q_len; ++i) planQuery(without_cache, s.token0 + i, seq, 0);
  }
  runDecode(args, without_cache, nullptr, nullptr, queue);
}

std::size_t scratchBytes(const AttentionArgs& args, int) {
  return Arrays(args, nullptr).scratch.usedBytes();
}

OpCost cost(const AttentionArgs& args) {
  constexpr std::uint64_t kScoreBytes = 2 * sizeof(float) + 2 * sizeof(std::uint16_t);  // each written and read
  OpCost cost = attentionCost(args);
  for (int seq = 0; seq < args.kv.num_seqs; ++seq) {
    const SeqShape s = shapeOf(args, seq);
    if (s.q_len == 0) continue;
    cost.scores += kScoreBytes * args.num_heads * s.q_len * s.kv_len;
    const std::uint64_t gathered = 2 * sizeof(std::uint16_t) * args.kv.num_kv_heads * args.kv.head_dim * s.kv_len;
    cost.kv_write += gathered;
    cost.kv_read += gathered;
  }
  return cost;
}

}  // namespace

Kernel<AttentionArgs> attentionNaive() {
  return {"attention.naive_cuda",
          "naive",
          "Attention through a score matrix and cuBLAS",
          kThisDevice,
          [](const AttentionArgs& args) { return whyNoKv(args.kv); },
          cost,
          scratchBytes,
          run};
}

}  // namespace inferoscope::kernels::cuda
