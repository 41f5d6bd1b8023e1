// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/attention_parts.h"

#include "kernels/cpu/row_parts.h"

#include <algorithm>

namespace inferoscope::kernels::cpu {
namespace {

// Enough to decode a tile of keys once for many queries, few enough to share a short prompt out to threads.
constexpr int kRowsPerTile = 48;

int queryLen(const AttentionArgs& args, int seq) {
  return args.q_starts[seq + 1] - args.q_starts[seq];
}

int padded(int head_dim) {
  return ceilDiv(head_dim, 16) * 16;
}

void pad(float* vector, int head_dim) {
  std::fill(vector + head_dim, vector + padded(head_dim), 0.0F);
}

std::int64_t rowOffset(const AttentionArgs& args, const QueryTile& tile, int row) {
  const int token = tile.first_token + tile.q_begin + row / tile.group;
  const int head = tile.kv_head * tile.group + row % tile.group;
  return (std::int64_t{token} * args.num_heads + head) * args.kv.head_dim;
}

}  // namespace

std::string attentionSupports(const AttentionArgs& args) {
  if (args.num_heads % args.kv.num_kv_heads != 0) {
    return std::to_string(args.num_heads) + " query heads can't share " + std::to_string(args.kv.num_kv_heads) +
           " key-value heads evenly";
  }
  return whyNotStored(args.kv.format, args.kv.head_dim, "heads");
}

std::string attentionSupportsAvx2(const AttentionArgs& args) {
  const std::string reason = whyNoAvx2();
  return reason.empty() ? attentionSupports(args) : reason;
}

std::string attentionSupportsAvx512(const AttentionArgs& args) {
  const std::string reason = whyNoAvx512();
  return reason.empty() ? attentionSupports(args) : reason;
}

int headsPerKvHead(const AttentionArgs& args) {
  return args.num_heads / args.kv.num_kv_heads;
}

int paddedHeadDim(const AttentionArgs& args) {
  return padded(args.kv.head_dim);
}

int queriesPerTile(const AttentionArgs& args) {
  return std::max(1, kRowsPerTile / headsPerKvHead(args));
}

int rowsPerTile(const AttentionArgs& args) {
  return queriesPerTile(args) * headsPerKvHead(args);
}

int numQueryTiles(const AttentionArgs& args, int seq) {
  return ceilDiv(queryLen(args, seq), queriesPerTile(args)) * args.kv.num_kv_heads;
}

QueryTile queryTile(const AttentionArgs& args, int seq, int index) {
  const int q_len = queryLen(args, seq);
  const int num_parts = ceilDiv(q_len, queriesPerTile(args));
  const int q_begin = (num_parts - 1 - index / args.kv.num_kv_heads) * queriesPerTile(args);
  return {.seq = seq,
          .kv_head = index % args.kv.num_kv_heads,
          .q_begin = q_begin,
          .q_end = std::min(q_begin + queriesPerTile(args), q_len),
          .first_token = args.q_starts[seq],
          .num_before = args.kv.kv_lens[seq] - q_len,
          .group = headsPerKvHead(args)};
}

int numQueryTiles(const AttentionArgs& args) {
  int sum = 0;
  for (int seq = 0; seq < args.kv.num_seqs; ++seq) sum += numQueryTiles(args, seq);
  return sum;
}

QueryTile queryTile(const AttentionArgs& args, int index) {
  int seq = 0;
  for (; index >= numQueryTiles(args, seq); ++seq) index -= numQueryTiles(args, seq);
  return queryTile(args, seq, index);
}

void loadQueries(const AttentionArgs& args, const QueryTile& tile, float* out) {
  const int dim = args.kv.head_dim;
  for (int row = 0; row < tile.numRows(); ++row, out += padded(dim)) {
    const float* q = args.q + rowOffset(args, tile, row);
    for (int d = 0; d < dim; ++d) out[d] = q[d] * args.scale;
    pad(out, dim);
  }
}

void storeRow(const AttentionArgs& args, const QueryTile& tile, int row, const float* from) {
  std::copy_n(from, args.kv.head_dim, args.out + rowOffset(args, tile, row));
}

void tokenOffsets(const PagedKvView& kv, int seq, int kv_head, int begin, int num_tokens, std::int64_t* offsets) {
  for (int i = 0; i < num_tokens;) {
    const int in_block = std::min(kv.block_size - (begin + i) % kv.block_size, num_tokens - i);
    const std::int64_t first = kvOffsetOf(kv, seq, begin + i, kv_head);
    for (int slot = 0; slot < in_block; ++slot) offsets[i + slot] = first + slot * kv.vector_bytes;
    i += in_block;
  }
  std::fill(offsets + num_tokens, offsets + kTileTokens, offsets[num_tokens - 1]);
}

void prefetchTokens(const PagedKvView& kv, const std::byte* cache, int seq, int kv_head, int begin, int num_tokens) {
  num_tokens = std::min(num_tokens, kv.kv_lens[seq] - begin);
  for (int i = 0; i < num_tokens;) {
    const int in_block = std::min(kv.block_size - (begin + i) % kv.block_size, num_tokens - i);
    const std::byte* from = cache + kvOffsetOf(kv, seq, begin + i, kv_head);
    for (std::int64_t at = 0; at < in_block * kv.vector_bytes; at += 64) __builtin_prefetch(from + at);
    i += in_block;
  }
}

void loadTokens(const PagedKvView& kv, const std::byte* cache, AttentionMath::Decode decode, int seq, int kv_head,
                int begin, int num_tokens, float* out) {
  const int stride = padded(kv.head_dim);
  for (int i = 0; i < num_tokens;) {
    // Within a block the vectors of a head lie together.
    const int in_block = std::min(kv.block_size - (begin + i) % kv.block_size, num_tokens - i);
    const std::byte* from = cache + kvOffsetOf(kv, seq, begin + i, kv_head);
    if (stride == kv.head_dim) {
      decode(from, out + std::int64_t{i} * stride, std::int64_t{in_block} * stride);
      i += in_block;
      continue;
    }
    for (const int end = i + in_block; i < end; ++i, from += kv.vector_bytes) {
      decode(from, out + std::int64_t{i} * stride, kv.head_dim);
      pad(out + std::int64_t{i} * stride, kv.head_dim);
    }
  }
}

}  // namespace inferoscope::kernels::cpu
