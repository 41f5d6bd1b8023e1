// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/interleave.h"

#include <cassert>
#include <cstring>
#include <type_traits>

namespace inferoscope::kernels {
namespace {

// Calls field(byte of the block, byte of the group's block, size) for each field of row `row` of a group.
template <class Field>
void forFields(const Format& format, int row, const Field& field) {
  int in_block = 0;
  int in_group = 0;
  const auto half = [&] {
    field(in_block, in_group + row * 2, std::integral_constant<int, 2>{});
    in_block += 2;
    in_group += kGroupRows * 2;
  };
  for (int i = 0; i < format.head_halves; ++i) half();
  const int num_words = (format.block_bytes - in_block) / 4;
  const int lane = row / kHalfGroupRows * num_words * kHalfGroupRows * 4 + row % kHalfGroupRows * 4;
  for (int i = 0; i < num_words; ++i, in_block += 4) {
    field(in_block, in_group + lane + i * kHalfGroupRows * 4, std::integral_constant<int, 4>{});
  }
  in_group += num_words * kGroupRows * 4;
  if (in_block < format.block_bytes) half();
}

}  // namespace

int numGroups(const WeightMatrix& w) {
  return (w.num_rows + kGroupRows - 1) / kGroupRows;
}

std::int64_t groupBytes(const WeightMatrix& w) {
  return storedBytes(formatOf(w.format), std::int64_t{kGroupRows} * w.num_cols);
}

std::int64_t layoutBytes(const WeightMatrix& w) {
  return w.layout == Layout::kRows ? matrixBytes(w) : numGroups(w) * groupBytes(w);
}

void interleaveGroup(const WeightMatrix& w, const std::byte* rows, int num_rows, std::byte* group) {
  const Format& format = formatOf(w.format);
  const int num_blocks = w.num_cols / format.block_elems;
  const std::int64_t row_bytes = std::int64_t{num_blocks} * format.block_bytes;
  if (num_rows < kGroupRows) std::memset(group, 0, static_cast<std::size_t>(groupBytes(w)));
  for (int b = 0; b < num_blocks; ++b) {
    std::byte* const to = group + std::int64_t{b} * format.block_bytes * kGroupRows;
    for (int row = 0; row < num_rows; ++row) {
      const std::byte* const from = rows + row * row_bytes + std::int64_t{b} * format.block_bytes;
      forFields(format, row,
                [&](int in_block, int in_group, auto size) { std::memcpy(to + in_group, from + in_block, size); });
    }
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
    forFields(format, row % kGroupRows,
              [&](int in_block, int in_group, auto size) { std::memcpy(to + in_block, from + in_group, size); });
  }
}

}  // namespace inferoscope::kernels
