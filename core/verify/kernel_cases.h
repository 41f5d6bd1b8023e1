// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/catalog.h"
#include "kernels/format.h"
#include "kernels/interleave.h"
#include "kernels/kernel.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <vector>

// Seeded arguments for kernels with the memory they point to: what `verify` and the kernels' tests run on.
namespace inferoscope::core::verify {

// splitmix64 (Steele, Lea, Flood 2014): the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : m_state(seed) {}

  std::uint64_t next() {
    std::uint64_t z = m_state += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  float uniform(float from, float to) { return from + (to - from) * static_cast<float>(next() >> 40) * 0x1p-24F; }

  std::vector<float> floats(std::int64_t count, float from = -1.0F, float to = 1.0F) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = uniform(from, to);
    return values;
  }

 private:
  std::uint64_t m_state;
};

// 64-byte aligned, filled with bytes that are NaN as f32 and f16, so that what is read but was not written shows.
class HostMemory {
 public:
  explicit HostMemory(std::size_t bytes)
      : m_bytes(bytes), m_data(static_cast<std::byte*>(::operator new(bytes, kAlignment))) {
    std::memset(m_data.get(), 0xFF, bytes);
  }

  std::byte* data() const { return m_data.get(); }
  std::span<std::byte> bytes() const { return {m_data.get(), m_bytes}; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Delete {
    void operator()(std::byte* data) const { ::operator delete(data, kAlignment); }
  };
  std::size_t m_bytes;
  std::unique_ptr<std::byte, Delete> m_data;
};

inline std::vector<std::byte> encoded(const kernels::Format& format, const std::vector<float>& values) {
  const auto num_elems = static_cast<std::int64_t>(values.size());
  std::vector<std::byte> blocks(static_cast<std::size_t>(kernels::storedBytes(format, num_elems)));
  format.encode(values.data(), blocks.data(), num_elems);
  return blocks;
}

inline std::vector<float> decoded(const kernels::Format& format, std::span<const std::byte> blocks) {
  const auto num_elems = static_cast<std::int64_t>(blocks.size()) / format.block_bytes * format.block_elems;
  std::vector<float> values(static_cast<std::size_t>(num_elems));
  format.decode(blocks.data(), values.data(), num_elems);
  return values;
}

inline std::vector<std::byte> interleavedRows(kernels::WeightMatrix w) {
  const std::int64_t group_bytes = kernels::groupBytes(w);
  std::vector<std::byte> groups(static_cast<std::size_t>(kernels::numGroups(w) * group_bytes), std::byte{0xFF});
  for (int group = 0; group < kernels::numGroups(w); ++group) {
    const int row = group * kernels::kGroupRows;
    kernels::interleaveGroup(w, w.data + row * (group_bytes / kernels::kGroupRows),
                             std::min(kernels::kGroupRows, w.num_rows - row), groups.data() + group * group_bytes);
  }
  return groups;
}

// A matrix of num_rows x num_cols in `format` and num_tokens activations.
struct LinearCase {
  LinearCase(const kernels::Format& format, int num_tokens, int num_rows, int num_cols, std::uint64_t seed = 1)
      : random(seed),
        x(random.floats(std::int64_t{num_tokens} * num_cols)),
        w(encoded(format, random.floats(std::int64_t{num_rows} * num_cols))),
        out(static_cast<std::size_t>(num_tokens) * static_cast<std::size_t>(num_rows), NAN),
        format_id(format.id),
        num_tokens_(num_tokens),
        num_rows_(num_rows),
        num_cols_(num_cols) {}

  kernels::LinearArgs args() {
    return {.x = x.data(),
            .w = {.data = w.data(), .format = format_id, .num_rows = num_rows_, .num_cols = num_cols_},
            .out = out.data(),
            .num_tokens = num_tokens_};
  }

  // The weights in the layout that the kernel takes; as rows if it takes none.
  kernels::LinearArgs argsFor(const kernels::Kernel<kernels::LinearArgs>& kernel) {
    if (kernel.supports(args()).empty()) return args();
    kernels::LinearArgs laid = args();
    laid.w.layout = kernels::Layout::kInterleaved;
    if (!kernel.supports(laid).empty()) return args();
    interleaved = interleavedRows(args().w);
    laid.w.data = interleaved.data();
    return laid;
  }

  Random random;
  std::vector<float> x;      // [num_tokens, num_cols]
  std::vector<std::byte> w;  // [num_rows, num_cols]
  std::vector<std::byte> interleaved;
  std::vector<float> out;  // [num_tokens, num_rows]
  kernels::FormatId format_id;
  int num_tokens_;
  int num_rows_;
  int num_cols_;
};

struct AttentionShape {
  struct Sequence {
    int q_len;
    int kv_len;
  };
  std::vector<Sequence> sequences;
  int num_heads = 4;
  int num_kv_heads = 2;
  int head_dim = 16;
  int block_size = 16;
  const char* format = "f32";
};

// Queries, and a paged cache whose blocks lie in random order. Slots that hold no token are NaN.
// Contents depend on (sequence, position, head) alone, not on the lengths or the way the cache is cut.
struct AttentionCase {
  explicit AttentionCase(const AttentionShape& s)
      : shape(s),
        format(*kernels::findFormat(s.format)),
        vector_bytes(kernels::storedBytes(format, s.head_dim)),
        blocks_per_table(1),
        num_blocks(1),
        keys(0),
        values(0) {
    int num_tokens = 0;
    q_starts.push_back(0);
    for (const auto& seq : shape.sequences) {
      num_tokens += seq.q_len;
      q_starts.push_back(num_tokens);
      kv_lens.push_back(seq.kv_len);
      blocks_per_table = std::max(blocks_per_table, blocksOf(seq.kv_len));
      num_blocks += blocksOf(seq.kv_len);
    }
    fillTables();
    fillCache();
    fillQueries();
    out.assign(q.size(), NAN);
  }

  int blocksOf(int kv_len) const { return (kv_len + shape.block_size - 1) / shape.block_size; }

  kernels::PagedKvView kv() {
    return {.keys = keys.data(),
            .values = values.data(),
            .format = format.id,
            .num_blocks = num_blocks,
            .block_size = shape.block_size,
            .num_kv_heads = shape.num_kv_heads,
            .head_dim = shape.head_dim,
            .vector_bytes = vector_bytes,
            .block_tables = block_tables.data(),
            .block_table_stride = blocks_per_table,
            .kv_lens = kv_lens.data(),
            .num_seqs = static_cast<int>(shape.sequences.size())};
  }

  kernels::AttentionArgs args() {
    return {.q = q.data(),
            .kv = kv(),
            .q_starts = q_starts.data(),
            .out = out.data(),
            .num_tokens = q_starts.back(),
            .num_heads = shape.num_heads,
            .scale = 1.0F / std::sqrt(static_cast<float>(shape.head_dim))};
  }

  AttentionShape shape;
  const kernels::Format& format;
  std::int64_t vector_bytes;
  int blocks_per_table;
  int num_blocks;  // one more than the sequences use
  std::vector<std::int32_t> q_starts;
  std::vector<std::int32_t> kv_lens;
  std::vector<std::int32_t> block_tables;
  HostMemory keys;
  HostMemory values;
  std::vector<float> q;
  std::vector<float> out;

 private:
  void fillTables() {
    std::vector<std::int32_t> order(static_cast<std::size_t>(num_blocks));
    std::iota(order.begin(), order.end(), 0);
    Random random(7);
    for (int i = num_blocks - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    block_tables.assign(shape.sequences.size() * static_cast<std::size_t>(blocks_per_table), -1);
    int next = 0;
    for (std::size_t s = 0; s < shape.sequences.size(); ++s) {
      for (int b = 0; b < blocksOf(shape.sequences[s].kv_len); ++b) {
        block_tables[s * static_cast<std::size_t>(blocks_per_table) + b] = order[next++];
      }
    }
  }

  void fillCache() {
    const auto bytes = std::size_t{1} * num_blocks * shape.num_kv_heads * shape.block_size * vector_bytes;
    keys = HostMemory(bytes);
    values = HostMemory(bytes);
    const kernels::PagedKvView view = kv();
    for (int s = 0; s < view.num_seqs; ++s) {
      for (int position = 0; position < kv_lens[s]; ++position) {
        for (int head = 0; head < shape.num_kv_heads; ++head) {
          Random random(1000003ULL * s + 1009ULL * position + head + 1);
          const std::int64_t offset = kernels::kvOffsetOf(view, s, position, head);
          format.encode(random.floats(shape.head_dim, -2, 2).data(), keys.data() + offset, shape.head_dim);
          format.encode(random.floats(shape.head_dim).data(), values.data() + offset, shape.head_dim);
        }
      }
    }
  }

  void fillQueries() {
    for (std::size_t s = 0; s < shape.sequences.size(); ++s) {
      const auto [q_len, kv_len] = shape.sequences[s];
      for (int position = kv_len - q_len; position < kv_len; ++position) {
        Random random(77ULL * s + 13ULL * position + 5);
        const std::vector<float> token = random.floats(std::int64_t{shape.num_heads} * shape.head_dim, -2, 2);
        q.insert(q.end(), token.begin(), token.end());
      }
    }
  }
};

}  // namespace inferoscope::core::verify
