// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"

#include <cstddef>
#include <cstdint>

namespace inferoscope::kernels {

// The keys and values of one layer for the sequences of one batch, as kernels see them: memory cut into blocks of
// block_size token slots, found through one block table per sequence. It knows no policy and owns nothing.
//
// Within a block the slots of one head lie together: [num_blocks, num_kv_heads, block_size, head_dim].
struct PagedKvView {
  std::byte* keys;     // [num_blocks, num_kv_heads, block_size, head_dim] in `format`
  std::byte* values;   // same shape
  FormatId format;
  int num_blocks;
  int block_size;      // token slots in a block
  int num_kv_heads;
  int head_dim;
  std::int64_t vector_bytes;  // bytes of one head's key or value: storedBytes(format, head_dim)

  const std::int32_t* block_tables;  // [num_seqs, block_table_stride]: logical block -> physical block
  int block_table_stride;
  const std::int32_t* kv_lens;       // [num_seqs]: tokens in the cache once this step's are appended
  int num_seqs;
};

// Byte offset of one head's vector in `keys` or `values`: the only place that knows the layout.
inline std::int64_t kvOffset(const PagedKvView& kv, std::int32_t block, int kv_head, int slot) {
  return ((std::int64_t{block} * kv.num_kv_heads + kv_head) * kv.block_size + slot) * kv.vector_bytes;
}

// The same for token `position` of sequence `seq` of the batch.
inline std::int64_t kvOffsetOf(const PagedKvView& kv, int seq, int position, int kv_head) {
  const std::int32_t block = kv.block_tables[std::int64_t{seq} * kv.block_table_stride + position / kv.block_size];
  return kvOffset(kv, block, kv_head, position % kv.block_size);
}

}  // namespace inferoscope::kernels
