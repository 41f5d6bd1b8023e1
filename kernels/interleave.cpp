// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/interleave.h"

#include <cassert>
#include <cstring>

namespace inferoscope::kernels {
namespace {

// A field of a block, of kSize bytes: where it lies in a block and, for row 0, in a group's block column.
template <int kSize>
struct Field {
  int in_block;
  int in_group;
  int half_stride;  // from rows 0..15 to rows 16..31

  std::int64_t ofRow(int row) const {
    return in_group + row / kHalfGroupRows * half_stride + row % kHalfGroupRows * kSize;
  }
};

template <class Call>
void forFields(const Format& format, const Call& call) {
  int in_block = 0;
  int in_group = 0;
  const auto half = [&] {
    call(Field<2>{in_block, in_group, kHalfGroupRows * 2});
    in_block += 2;
    in_group += kGroupRows * 2;
  };
  for (int i = 0; i < format.head_halves; ++i) half();
  const int num_words = (format.block_bytes - in_block) / 4;
  for (int i = 0; i < num_words; ++i, in_block += 4) {
    call(Field<4>{in_block, in_group + i * kHalfGroupRows * 4, num_words * kHalfGroupRows * 4});
  }
  in_group += num_words * kGroupRows * 4;
  if (in_block < format.block_bytes) half();
}

template <int kSize>
void interleaveField(const Field<kSize>& field, const std::byte* blocks, std::int64_t row_bytes, int num_rows,
                     std::byte* to) {
  blocks += field.in_block;
  if (num_rows < kGroupRows) {
    for (int row = 0; row < num_rows; ++row) std::memcpy(to + field.ofRow(row), blocks + row * row_bytes, kSize);
    return;
  }
  for (int half = 0; half < kGroupRows; half += kHalfGroupRows) {
    std::byte* lane = to + field.ofRow(half);
    for (int row = 0; row < kHalfGroupRows; ++row) {
      std::memcpy(lane + row * kSize, blocks + (half + row) * row_bytes, kSize);
    }
  }
}

}  // namespace

int numGroups(const WeightMatrix& w) {
  return (w.num_rows + kGroupRows - 1) / kGroupRows;
}

std::int64_t groupBytes(const WeightMatrix& w) {
  return storedBytes(formatOf(w.format), std::int64_t{kGroupRows} * w.num_cols);
}

std::int64_t layoutBytes(const WeightMatrix& w) {
  return w.layout == Layout::kInterleaved ? numGroups(w) * groupBytes(w) : matrixBytes(w);
}

void interleaveGroup(const WeightMatrix& w, const std::byte* rows, int num_rows, std::byte* group) {
  const Format& format = formatOf(w.format);
  const int num_blocks = w.num_cols / format.block_elems;
  const std::int64_t row_bytes = std::int64_t{num_blocks} * format.block_bytes;
  if (num_rows < kGroupRows) std::memset(group, 0, static_cast<std::size_t>(groupBytes(w)));
  for (int b = 0; b < num_blocks; ++b) {
    std::byte* const to = group + std::int64_t{b} * format.block_bytes * kGroupRows;
    const std::byte* const from = rows + std::int64_t{b} * format.block_bytes;
    forFields(format, [&](const auto& field) { interleaveField(field, from, row_bytes, num_rows, to); });
  }
}

void copyRow(const WeightMatrix& w, int row, std::byte* to) {
  assert(row >= 0 && row < w.num_rows);
  const Format& format = formatOf(w.format);
  const int num_blocks = w.num_cols / format.block_elems;
  const std::int64_t row_bytes = std::int64_t{num_blocks} * format.block_bytes;
  if (w.layout == Layout::kRows) {
    std::memcpy(to, w.data + row * row_bytes, static_cast<std::size_t>(row_bytes));
    return;
  }
  const std::byte* from = w.data + row / kGroupRows * groupBytes(w);
  for (int b = 0; b < num_blocks; ++b, from += format.block_bytes * kGroupRows, to += format.block_bytes) {
    forFields(format, [&]<int kSize>(const Field<kSize>& field) {
      std::memcpy(to + field.in_block, from + field.ofRow(row % kGroupRows), kSize);
    });
  }
}

}  // namespace inferoscope::kernels
