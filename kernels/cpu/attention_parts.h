// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/attention_math.h"
#include "kernels/ops.h"

#include <string>

namespace inferoscope::kernels::cpu {

// What the attention kernels share: how the work is cut, and the way in and out of the paged cache.

std::string attentionSupports(const AttentionArgs& args);
std::string attentionSupportsAvx2(const AttentionArgs& args);
std::string attentionSupportsAvx512(const AttentionArgs& args);

// Queries q_begin..q_end-1 of a sequence, for all the query heads that read one key-value head. Row r of the tile is
// query q_begin + r / group, head kv_head * group + r % group.
struct QueryTile {
  int seq;
  int kv_head;
  int q_begin;
  int q_end;
  int first_token;  // of the sequence in the step
  int num_before;   // tokens in the cache before the step's first query
  int group;        // query heads a key-value head

  int numRows() const { return (q_end - q_begin) * group; }
  int numVisible(int row) const { return num_before + q_begin + row / group + 1; }
  int mostVisible() const { return num_before + q_end; }
};

int headsPerKvHead(const AttentionArgs& args);
int paddedHeadDim(const AttentionArgs& args);  // a multiple of 16
int queriesPerTile(const AttentionArgs& args);
int rowsPerTile(const AttentionArgs& args);  // the most rows of a tile

// The tiles of one sequence: of the last queries first, since these have most to read.
int numQueryTiles(const AttentionArgs& args, int seq);
QueryTile queryTile(const AttentionArgs& args, int seq, int index);

// The tiles of all sequences, one after the other.
int numQueryTiles(const AttentionArgs& args);
QueryTile queryTile(const AttentionArgs& args, int index);

// out[row] = the row's query times args.scale, padded.
void loadQueries(const AttentionArgs& args, const QueryTile& tile, float* out);  // [numRows, paddedHeadDim]

// Stores a row's result, taking the padding off.
void storeRow(const AttentionArgs& args, const QueryTile& tile, int row, const float* from);  // [paddedHeadDim]

// Decodes num_tokens keys or values (`cache`) from position `begin` on, padded.
void loadTokens(const PagedKvView& kv, const std::byte* cache, AttentionMath::Decode decode, int seq, int kv_head,
                int begin, int num_tokens, float* out);  // [num_tokens, paddedHeadDim]

// Where the vectors of kTileTokens tokens from position `begin` on lie, counted from the begin of keys or values; the
// last token stands in for those that are not there.
void tokenOffsets(const PagedKvView& kv, int seq, int kv_head, int begin, int num_tokens, std::int64_t* offsets);

// Asks memory for what loadTokens() is to read soon; tokens that are not there are left out. Blocks lie anywhere: the
// processor can't guess the next one.
void prefetchTokens(const PagedKvView& kv, const std::byte* cache, int seq, int kv_head, int begin, int num_tokens);

}  // namespace inferoscope::kernels::cpu
