// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/byte_classes.h"

#include <array>

namespace inferoscope::core {
namespace {

using kernels::OpCost;

constexpr std::array<ByteClass, kNumByteKinds> kClasses = {{{"weights", &OpCost::weights},
                                                            {"kv_read", &OpCost::kv_read},
                                                            {"kv_write", &OpCost::kv_write},
                                                            {"activations", &OpCost::activations},
                                                            {"scores", &OpCost::scores}}};

const ByteClass& classOf(ByteKind kind) {
  return kClasses[static_cast<std::size_t>(kind)];
}

}  // namespace

std::span<const ByteClass> byteClasses() {
  return kClasses;
}

std::string_view byteKindName(ByteKind kind) {
  return classOf(kind).name;
}

std::uint64_t bytesOf(const OpCost& cost, ByteKind kind) {
  return cost.*classOf(kind).field;
}

}  // namespace inferoscope::core
