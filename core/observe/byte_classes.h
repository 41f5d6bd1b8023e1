// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/op_cost.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace inferoscope::core {

// The classes of bytes that a cost is made of, in the order in which they are shown, with their names in files.
struct ByteClass {
  std::string_view name;
  std::uint64_t kernels::OpCost::*field;
};
std::span<const ByteClass> byteClasses();

// The same by name: the place of each in the table.
enum class ByteKind : std::uint8_t { kWeights, kKvRead, kKvWrite, kActivations, kScores };
inline constexpr int kNumByteKinds = 5;
std::string_view byteKindName(ByteKind kind);  // "weights", "kv_read", ...
std::uint64_t bytesOf(const kernels::OpCost& cost, ByteKind kind);

}  // namespace inferoscope::core
