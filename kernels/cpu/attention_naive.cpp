// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/attention_parts.h"
#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/scratch.h"
#include "kernels/op_costs.h"

#include <algorithm>
#include <cmath>

namespace inferoscope::kernels::cpu {
namespace {

// Attention as it is first written down: all scores of the layer go to memory, are read and written back as softmax
// weights, and are read once more to sum the values. Masked scores take part as -inf and weight 0.

int queryLen(const AttentionArgs& args, int seq) {
  return args.q_starts[seq + 1] - args.q_starts[seq];
}

// Elements of a row of scores: whole tiles.
int rowStride(const AttentionArgs& args, int seq) {
  return ceilDiv(args.kv.kv_lens[seq], kTileTokens) * kTileTokens;
}

// Elements of the score matrices of the sequences before `seq`.
std::int64_t scoresBefore(const AttentionArgs& args, int seq) {
  std::int64_t sum = 0;
  for (int s = 0; s < seq; ++s) sum += std::int64_t{args.num_heads} * queryLen(args, s) * rowStride(args, s);
  return sum;
}

struct Arrays {
  Arrays(const AttentionArgs& args, int num_threads, std::byte* begin) : scratch(begin) {
    const std::int64_t dim = paddedHeadDim(args);
    scores = scratch.take<float>(scoresBefore(args, args.kv.num_seqs));
    rows = scratch.take<float>(std::int64_t{num_threads} * rowsPerTile(args) * dim);
    tokens = scratch.take<float>(std::int64_t{num_threads} * kTileTokens * dim);
    arranged = scratch.take<float>(std::int64_t{num_threads} * kTileTokens * dim);
    tile = scratch.take<float>(std::int64_t{num_threads} * rowsPerTile(args) * kTileTokens);
  }

  Scratch scratch;
  float* scores;    // for each sequence [num_heads, q_len, rowStride]
  float* rows;      // [num_threads, rowsPerTile, paddedHeadDim]: queries, then sums of values
  float* tokens;    // [num_threads, kTileTokens, paddedHeadDim]: keys, then values
  float* arranged;  // [num_threads, kTileTokens, paddedHeadDim]: keys as the arithmetic wants them
  float* tile;      // [num_threads, rowsPerTile, kTileTokens]: scores on their way to memory and back
};

std::size_t scratchBytes(const AttentionArgs& args, int num_threads) {
  return Arrays(args, num_threads, nullptr).scratch.usedBytes();
}

OpCost cost(const AttentionArgs& args) {
  OpCost cost = attentionCost(args);
  for (int s = 0; s < args.kv.num_seqs; ++s) {
    const std::uint64_t num_scores = std::uint64_t{1} * args.num_heads * queryLen(args, s) * args.kv.kv_lens[s];
    cost.scores += 4 * num_scores * sizeof(float);  // written, read, written as weights, read
  }
  return cost;
}

// One run of the kernel: three passes, each over all query tiles.
struct Run {
  Run(const AttentionArgs& a, const Exec& e, const AttentionMath& m)
      : args(a),
        exec(e),
        math(m),
        decode(m.decoder(a.kv.format)),
        dim(paddedHeadDim(a)),
        arrays(a, e.pool->numThreads(), e.scratch.data()) {}

  float* rowOfScores(const QueryTile& tile, int row) const {
    const int head = tile.kv_head * tile.group + row % tile.group;
    const int query = tile.q_begin + row / tile.group;
    return arrays.scores + scoresBefore(args, tile.seq) +
           (std::int64_t{head} * queryLen(args, tile.seq) + query) * rowStride(args, tile.seq);
  }

  float* tileOf(int thread) const { return arrays.tile + std::int64_t{thread} * rowsPerTile(args) * kTileTokens; }

  // Calls body(first token, their number, decoded tokens) for every tile of `cache` that `tile` sees.
  template <class Body>
  void forTokens(const QueryTile& tile, const std::byte* cache, int thread, const Body& body) const {
    float* tokens = arrays.tokens + std::int64_t{thread} * kTileTokens * dim;
    for (int begin = 0; begin < tile.mostVisible(); begin += kTileTokens) {
      const int num_tokens = std::min(kTileTokens, tile.mostVisible() - begin);
      loadTokens(args.kv, cache, decode, tile.seq, tile.kv_head, begin, num_tokens, tokens);
      body(begin, num_tokens, tokens);
    }
  }

  void writeScores(const QueryTile& tile, int thread) const {
    float* queries = arrays.rows + std::int64_t{thread} * rowsPerTile(args) * dim;
    loadQueries(args, tile, queries);
    float* arranged = arrays.arranged + std::int64_t{thread} * kTileTokens * dim;
    forTokens(tile, args.kv.keys, thread, [&](int begin, int, const float* keys) {
      math.arrange(keys, dim, arranged);
      math.scores(queries, tile.numRows(), arranged, dim, tileOf(thread));
      for (int row = 0; row < tile.numRows(); ++row) {
        std::copy_n(tileOf(thread) + row * kTileTokens, kTileTokens, rowOfScores(tile, row) + begin);
      }
    });
    for (int row = 0; row < tile.numRows(); ++row) {
      float* scores = rowOfScores(tile, row);
      std::fill(scores + tile.numVisible(row), scores + rowStride(args, tile.seq), -INFINITY);
    }
  }

  void softmax(const QueryTile& tile) const {
    const int stride = rowStride(args, tile.seq);
    for (int row = 0; row < tile.numRows(); ++row) {
      float* scores = rowOfScores(tile, row);
      const float sum = math.expSum(scores, stride, math.largest(scores, stride));
      math.scale(scores, stride, 1.0F / sum);
    }
  }

  void sumValues(const QueryTile& tile, int thread) const {
    float* sums = arrays.rows + std::int64_t{thread} * rowsPerTile(args) * dim;
    std::fill_n(sums, std::int64_t{tile.numRows()} * dim, 0.0F);
    forTokens(tile, args.kv.values, thread, [&](int begin, int num_tokens, const float* values) {
      for (int row = 0; row < tile.numRows(); ++row) {
        std::copy_n(rowOfScores(tile, row) + begin, kTileTokens, tileOf(thread) + row * kTileTokens);
      }
      math.accumulate(tileOf(thread), tile.numRows(), values, num_tokens, dim, sums);
    });
    for (int row = 0; row < tile.numRows(); ++row) storeRow(args, tile, row, sums + std::int64_t{row} * dim);
  }

  void passes() const {
    const int num_tiles = numQueryTiles(args);
    exec.pool->parallelFor(num_tiles, exec.stop, [&](int i, int thread) { writeScores(queryTile(args, i), thread); });
    exec.pool->parallelFor(num_tiles, exec.stop, [&](int i, int) { softmax(queryTile(args, i)); });
    exec.pool->parallelFor(num_tiles, exec.stop, [&](int i, int thread) { sumValues(queryTile(args, i), thread); });
  }

  const AttentionArgs& args;
  const Exec& exec;
  const AttentionMath& math;
  const AttentionMath::Decode decode;
  const int dim;
  const Arrays arrays;
};

void runAvx512(const AttentionArgs& args, const Exec& exec) {
  Run(args, exec, avx512AttentionMath()).passes();
}

void runAvx2(const AttentionArgs& args, const Exec& exec) {
  Run(args, exec, avx2AttentionMath()).passes();
}

void runScalar(const AttentionArgs& args, const Exec& exec) {
  Run(args, exec, scalarAttentionMath()).passes();
}

}  // namespace

Kernel<AttentionArgs> attentionNaiveAvx512() {
  return {"attention.naive_avx512",
          "naive",
          "Attention through a score matrix, AVX-512",
          Device::kCpu,
          attentionSupportsAvx512,
          cost,
          scratchBytes,
          runAvx512};
}

Kernel<AttentionArgs> attentionNaive() {
  return {
      "attention.naive", "naive", "Attention through a score matrix, AVX2", Device::kCpu, attentionSupportsAvx2, cost,
      scratchBytes,      runAvx2};
}

Kernel<AttentionArgs> attentionNaiveScalar() {
  return {"attention.naive_scalar",
          "naive",
          "Attention through a score matrix, one element at a time",
          Device::kCpu,
          attentionSupports,
          cost,
          scratchBytes,
          runScalar};
}

}  // namespace inferoscope::kernels::cpu
