// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/attention_parts.h"
#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/scratch.h"
#include "kernels/online_softmax.h"
#include "kernels/op_costs.h"

#include <algorithm>

namespace inferoscope::kernels::cpu {
namespace {

// Attention in tiles that stay in the first-level cache, with the softmax on the way: no score reaches memory.
// The cache is cut at multiples of kSplitTokens, each split is summed on its own and splits are merged in order. The
// query of a decode step has its splits shared out to threads, those of a prompt take them one after the other: the
// same sums in the same order.
constexpr int kSplitTokens = 512;
static_assert(kSplitTokens % kTileTokens == 0);

int numSplits(const AttentionArgs& args, int seq) {
  return ceilDiv(args.kv.kv_lens[seq], kSplitTokens);
}

bool isDecode(const AttentionArgs& args, int seq) {
  return args.q_starts[seq + 1] - args.q_starts[seq] == 1;
}

int numTasks(const AttentionArgs& args, int seq) {
  return isDecode(args, seq) ? args.kv.num_kv_heads * numSplits(args, seq) : numQueryTiles(args, seq);
}

int tasksBefore(const AttentionArgs& args, int seq) {
  int sum = 0;
  for (int s = 0; s < seq; ++s) sum += numTasks(args, s);
  return sum;
}

// Rows of the sums of decode steps: a query head each, for every split.
std::int64_t partRowsBefore(const AttentionArgs& args, int seq) {
  std::int64_t sum = 0;
  for (int s = 0; s < seq; ++s) sum += isDecode(args, s) ? std::int64_t{args.num_heads} * numSplits(args, s) : 0;
  return sum;
}

// The states of the rows of a query tile.
struct Sums {
  float* o;              // [rows, paddedHeadDim]
  OnlineSoftmax* state;  // [rows]

  Sums at(std::int64_t row, std::int64_t dim) const { return {o + row * dim, state + row}; }
};

struct Arrays {
  Arrays(const AttentionArgs& args, int num_threads, std::byte* begin) : scratch(begin) {
    const std::int64_t dim = paddedHeadDim(args);
    const std::int64_t rows = std::int64_t{num_threads} * rowsPerTile(args);
    const std::int64_t decode_rows = partRowsBefore(args, args.kv.num_seqs);
    queries = scratch.take<float>(rows * dim);
    keys = scratch.take<float>(std::int64_t{num_threads} * kTileTokens * dim);
    arranged = scratch.take<float>(std::int64_t{num_threads} * kTileTokens * dim);
    values = scratch.take<float>(std::int64_t{num_threads} * kTileTokens * dim);
    scores = scratch.take<float>(rows * kTileTokens);
    part = {scratch.take<float>(rows * dim), scratch.take<OnlineSoftmax>(rows)};
    total = {scratch.take<float>(rows * dim), scratch.take<OnlineSoftmax>(rows)};
    decode_parts = {scratch.take<float>(decode_rows * dim), scratch.take<OnlineSoftmax>(decode_rows)};
  }

  Scratch scratch;
  float* queries;     // [num_threads, rowsPerTile, paddedHeadDim]
  float* keys;        // [num_threads, kTileTokens, paddedHeadDim]
  float* arranged;    // [num_threads, kTileTokens, paddedHeadDim]: the keys as the arithmetic wants them
  float* values;      // [num_threads, kTileTokens, paddedHeadDim]
  float* scores;      // [num_threads, rowsPerTile, kTileTokens]
  Sums part;          // [num_threads, rowsPerTile]: of the present split
  Sums total;         // [num_threads, rowsPerTile]: of all splits so far
  Sums decode_parts;  // for each decoding sequence [num_kv_heads, num_splits, group]
};

std::size_t scratchBytes(const AttentionArgs& args, int num_threads) {
  return Arrays(args, num_threads, nullptr).scratch.usedBytes();
}

struct Run {
  Run(const AttentionArgs& a, const Exec& e, const AttentionMath& m)
      : args(a),
        exec(e),
        math(m),
        decode(m.decoder(a.kv.format)),
        dim(paddedHeadDim(a)),
        arrays(a, e.pool->numThreads(), e.scratch.data()) {}

  void run() const {
    exec.pool->parallelFor(tasksBefore(args, args.kv.num_seqs), exec.stop, [&](int task, int thread) {
      int seq = 0;
      for (; task >= numTasks(args, seq); ++seq) task -= numTasks(args, seq);
      if (isDecode(args, seq)) {
        attendDecodeSplit(seq, task, thread);
      } else {
        attendPrompt(queryTile(args, seq, task), thread);
      }
    });
    exec.pool->parallelFor(args.kv.num_seqs * args.kv.num_kv_heads, exec.stop, [&](int task, int thread) {
      const int seq = task / args.kv.num_kv_heads;
      if (isDecode(args, seq)) mergeDecodeSplits(queryTile(args, seq, task % args.kv.num_kv_heads), thread);
    });
  }

 private:
  float* queriesOf(int thread) const { return arrays.queries + std::int64_t{thread} * rowsPerTile(args) * dim; }
  Sums ofThread(const Sums& sums, int thread) const { return sums.at(std::int64_t{thread} * rowsPerTile(args), dim); }

  Sums decodePart(const QueryTile& tile, int split) const {
    const std::int64_t part = std::int64_t{tile.kv_head} * numSplits(args, tile.seq) + split;
    return arrays.decode_parts.at(partRowsBefore(args, tile.seq) + part * tile.group, dim);
  }

  void attendPrompt(const QueryTile& tile, int thread) const {
    const Sums part = ofThread(arrays.part, thread);
    const Sums total = ofThread(arrays.total, thread);
    loadQueries(args, tile, queriesOf(thread));
    clear(total, tile.numRows());
    for (int split = 0; split * kSplitTokens < tile.mostVisible(); ++split) {
      attendSplit(tile, split, thread, part);
      mergeInto(total, part, tile.numRows());
    }
    finish(tile, total);
  }

  void attendDecodeSplit(int seq, int task, int thread) const {
    const QueryTile tile = queryTile(args, seq, task % args.kv.num_kv_heads);
    const int split = task / args.kv.num_kv_heads;
    loadQueries(args, tile, queriesOf(thread));
    attendSplit(tile, split, thread, decodePart(tile, split));
  }

  void mergeDecodeSplits(const QueryTile& tile, int thread) const {
    const Sums total = ofThread(arrays.total, thread);
    clear(total, tile.numRows());
    for (int split = 0; split < numSplits(args, tile.seq); ++split) {
      mergeInto(total, decodePart(tile, split), tile.numRows());
    }
    finish(tile, total);
  }

  // What the tile's queries, loaded before, make of one split.
  void attendSplit(const QueryTile& tile, int split, int thread, const Sums& sums) const {
    const std::int64_t tile_elems = std::int64_t{thread} * kTileTokens * dim;
    float* keys = arrays.keys + tile_elems;
    float* arranged = arrays.arranged + tile_elems;
    float* values = arrays.values + tile_elems;
    float* scores = arrays.scores + std::int64_t{thread} * rowsPerTile(args) * kTileTokens;
    const int end = std::min((split + 1) * kSplitTokens, tile.mostVisible());
    clear(sums, tile.numRows());
    for (int begin = split * kSplitTokens; begin < end; begin += kTileTokens) {
      const int num_tokens = std::min(kTileTokens, end - begin);
      loadTokens(args.kv, args.kv.keys, decode, tile.seq, tile.kv_head, begin, num_tokens, keys);
      loadTokens(args.kv, args.kv.values, decode, tile.seq, tile.kv_head, begin, num_tokens, values);
      // The next tile comes in while this one is computed, a part at a time: a core has few lines on their way at once.
      const auto prefetch = [&](const std::byte* cache, int half) {
        constexpr int kHalf = kTileTokens / 2;
        prefetchTokens(args.kv, cache, tile.seq, tile.kv_head, begin + kTileTokens + half * kHalf, kHalf);
      };
      prefetch(args.kv.keys, 0);
      math.arrange(keys, dim, arranged);
      prefetch(args.kv.keys, 1);
      math.scores(queriesOf(thread), tile.numRows(), arranged, dim, scores);
      prefetch(args.kv.values, 0);
      for (int row = 0; row < tile.numRows(); ++row) {
        weigh(scores + row * kTileTokens, tile.numVisible(row) - begin, sums.at(row, dim));
      }
      prefetch(args.kv.values, 1);
      math.accumulate(scores, tile.numRows(), values, num_tokens, dim, sums.o);
    }
  }

  // Turns a row's scores into the weights of its values; what it summed so far is made to fit.
  void weigh(float* scores, int num_visible, const Sums& sum) const {
    if (num_visible < kTileTokens) std::fill(scores + std::max(num_visible, 0), scores + kTileTokens, -INFINITY);
    const float largest = math.largest(scores, kTileTokens);
    if (largest == -INFINITY) {
      std::fill(scores, scores + kTileTokens, 0.0F);
      return;
    }
    const float factor = sum.state->raise(largest);
    if (factor != 1.0F) math.scale(sum.o, dim, factor);
    sum.state->d += math.expSum(scores, kTileTokens, sum.state->m);
  }

  void clear(const Sums& sums, int num_rows) const {
    for (int row = 0; row < num_rows; ++row) init(*sums.at(row, dim).state, sums.at(row, dim).o, dim);
  }

  void mergeInto(const Sums& total, const Sums& part, int num_rows) const {
    for (int row = 0; row < num_rows; ++row) {
      const Sums to = total.at(row, dim);
      const Sums from = part.at(row, dim);
      merge(*to.state, to.o, *from.state, from.o, dim);
    }
  }

  void finish(const QueryTile& tile, const Sums& total) const {
    for (int row = 0; row < tile.numRows(); ++row) {
      const Sums sum = total.at(row, dim);
      normalize(*sum.state, sum.o, dim);
      storeRow(args, tile, row, sum.o);
    }
  }

  const AttentionArgs& args;
  const Exec& exec;
  const AttentionMath& math;
  const AttentionMath::Decode decode;
  const int dim;
  const Arrays arrays;
};

void runAvx512(const AttentionArgs& args, const Exec& exec) {
  Run(args, exec, avx512AttentionMath()).run();
}

void runAvx2(const AttentionArgs& args, const Exec& exec) {
  Run(args, exec, avx2AttentionMath()).run();
}

void runScalar(const AttentionArgs& args, const Exec& exec) {
  Run(args, exec, scalarAttentionMath()).run();
}

}  // namespace

Kernel<AttentionArgs> attentionFlashAvx512() {
  return {"attention.flash_avx512",
          "flash",
          "Flash attention, AVX-512",
          Device::kCpu,
          attentionSupportsAvx512,
          attentionCost,
          scratchBytes,
          runAvx512};
}

Kernel<AttentionArgs> attentionFlash() {
  return {"attention.flash", "flash", "Flash attention, AVX2", Device::kCpu, attentionSupportsAvx2, attentionCost,
          scratchBytes,      runAvx2};
}

Kernel<AttentionArgs> attentionFlashScalar() {
  return {"attention.flash_scalar",
          "flash",
          "Flash attention, one element at a time",
          Device::kCpu,
          attentionSupports,
          attentionCost,
          scratchBytes,
          runScalar};
}

}  // namespace inferoscope::kernels::cpu
