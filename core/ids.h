// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace inferoscope::core {

// Distinct integer types, so that a block is never passed where a sequence is meant.
template <class Tag>
struct Id {
  std::int32_t value = -1;  // -1: none
  constexpr bool valid() const { return value >= 0; }
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

using SeqId = Id<struct SeqTag>;      // a request and the sequence it becomes; never reused within an engine
using BlockId = Id<struct BlockTag>;  // a physical KV block

using TokenId = std::int32_t;  // as kernels take them

}  // namespace inferoscope::core

template <class Tag>
struct std::hash<inferoscope::core::Id<Tag>> {
  std::size_t operator()(inferoscope::core::Id<Tag> id) const { return std::hash<std::int32_t>{}(id.value); }
};
