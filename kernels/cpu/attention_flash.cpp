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
constexpr int kFewRows = 8;  // query heads of a decode step that share a key-value head, at most

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
        stored(m.stored(a.kv.format, a.kv.head_dim)),
        dim(paddedHeadDim(a)),
        rows_per_tile(rowsPerTile(a)),
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
  float* arrangedOf(int thread) const { return arrays.arranged + std::int64_t{thread} * kTileTokens * dim; }
  float* scoresOf(int thread) const { return arrays.scores + std::int64_t{thread} * rows_per_tile * kTileTokens; }
  float* queriesOf(int thread) const { return arrays.queries + std::int64_t{thread} * rows_per_tile * dim; }
  Sums ofThread(const Sums& sums, int thread) const { return sums.at(std::int64_t{thread} * rows_per_tile, dim); }

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

  // What the tile's queries, loaded before, make of one split. Many rows share what is decoded once; the few of a
  // decode step read the cache as it is stored.
  void attendSplit(const QueryTile& tile, int split, int thread, const Sums& sums) const {
    const int begin = split * kSplitTokens;
    const int end = std::min(begin + kSplitTokens, tile.mostVisible());
    clear(sums, tile.numRows());
    if (stored.arrange != nullptr && tile.numRows() <= kFewRows) {
      attendStored(tile, begin, end, thread, sums);
    } else {
      attendDecoded(tile, begin, end, thread, sums);
    }
  }

  // The stored vectors of a tile.
  struct Vectors {
    const std::byte* keys[kTileTokens];
    const std::byte* values[kTileTokens];
  };

  void findVectors(const QueryTile& tile, int begin, int kv_len, Vectors& found) const {
    std::int64_t offsets[kTileTokens];
    tokenOffsets(args.kv, tile.seq, tile.kv_head, begin, std::min(kTileTokens, kv_len - begin), offsets);
    for (int i = 0; i < kTileTokens; ++i) {
      found.keys[i] = args.kv.keys + offsets[i];
      found.values[i] = args.kv.values + offsets[i];
    }
  }

  // The next tile comes in while this one is computed.
  void attendStored(const QueryTile& tile, int begin, int end, int thread, const Sums& sums) const {
    auto* arranged = reinterpret_cast<std::byte*>(arrangedOf(thread));
    const int kv_len = args.kv.kv_lens[tile.seq];
    Vectors tiles[2];
    Vectors* now = &tiles[0];
    Vectors* next = &tiles[1];
    findVectors(tile, begin, kv_len, *now);
    for (; begin < end; begin += kTileTokens, std::swap(now, next)) {
      const int num_tokens = std::min(kTileTokens, end - begin);
      findVectors(tile, begin + kTileTokens < kv_len ? begin + kTileTokens : begin, kv_len, *next);
      stored.arrange(now->keys, next->keys, dim, arranged);
      stored.scores(queriesOf(thread), tile.numRows(), arranged, dim, scoresOf(thread));
      weighRows(tile, begin, thread, sums);
      stored.accumulate(scoresOf(thread), tile.numRows(), now->values, next->values, num_tokens, dim, sums.o);
    }
  }

  void attendDecoded(const QueryTile& tile, int begin, int end, int thread, const Sums& sums) const {
    float* keys = arrays.keys + std::int64_t{thread} * kTileTokens * dim;
    float* values = arrays.values + std::int64_t{thread} * kTileTokens * dim;
    for (; begin < end; begin += kTileTokens) {
      const int num_tokens = std::min(kTileTokens, end - begin);
      loadTokens(args.kv, args.kv.keys, decode, tile.seq, tile.kv_head, begin, num_tokens, keys);
      loadTokens(args.kv, args.kv.values, decode, tile.seq, tile.kv_head, begin, num_tokens, values);
      prefetchTokens(args.kv, args.kv.keys, tile.seq, tile.kv_head, begin + kTileTokens, kTileTokens);
      math.arrange(keys, dim, arrangedOf(thread));
      math.scores(queriesOf(thread), tile.numRows(), arrangedOf(thread), dim, scoresOf(thread));
      prefetchTokens(args.kv, args.kv.values, tile.seq, tile.kv_head, begin + kTileTokens, kTileTokens);
      weighRows(tile, begin, thread, sums);
      math.accumulate(scoresOf(thread), tile.numRows(), values, num_tokens, dim, sums.o);
    }
  }

  void weighRows(const QueryTile& tile, int begin, int thread, const Sums& sums) const {
    for (int row = 0; row < tile.numRows(); ++row) {
      weigh(scoresOf(thread) + row * kTileTokens, tile.numVisible(row) - begin, sums.at(row, dim));
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
  const AttentionMath::Stored stored;
  const int dim;
  const int rows_per_tile;
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
