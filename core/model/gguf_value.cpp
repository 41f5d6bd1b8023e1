// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/gguf_value.h"

#include <fmt/format.h>
#include <array>
#include <cstring>
#include <limits>

namespace inferoscope::core {
namespace {

struct TypeRow {
  std::string_view name;
  std::size_t bytes;
  bool integer;
};

constexpr std::array<TypeRow, kNumGgufTypes> kTypes{{{"uint8", 1, true},
                                                     {"int8", 1, true},
                                                     {"uint16", 2, true},
                                                     {"int16", 2, true},
                                                     {"uint32", 4, true},
                                                     {"int32", 4, true},
                                                     {"float32", 4, false},
                                                     {"bool", 1, false},
                                                     {"string", 0, false},
                                                     {"array", 0, false},
                                                     {"uint64", 8, true},
                                                     {"int64", 8, true},
                                                     {"float64", 8, false}}};

const TypeRow& row(GgufType type) {
  return kTypes[static_cast<std::size_t>(type)];
}

template <class T>
T load(const std::vector<std::byte>& bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

std::string_view ggufTypeName(GgufType type) {
  return row(type).name;
}
bool isIntegerType(GgufType type) {
  return row(type).integer;
}
std::size_t ggufTypeBytes(GgufType type) {
  return row(type).bytes;
}

std::string GgufValue::typeName() const {
  if (type != GgufType::kArray) return std::string(ggufTypeName(type));
  return fmt::format("array of {}", ggufTypeName(element));
}

StoredInteger integerAt(const std::vector<std::byte>& bytes, GgufType type, std::size_t index) {
  switch (type) {
    case GgufType::kUint8:
      return {load<std::uint8_t>(bytes, index)};
    case GgufType::kInt8:
      return {load<std::int8_t>(bytes, index)};
    case GgufType::kUint16:
      return {load<std::uint16_t>(bytes, index)};
    case GgufType::kInt16:
      return {load<std::int16_t>(bytes, index)};
    case GgufType::kUint32:
      return {load<std::uint32_t>(bytes, index)};
    case GgufType::kInt32:
      return {load<std::int32_t>(bytes, index)};
    case GgufType::kInt64:
      return {load<std::int64_t>(bytes, index)};
    default:
      break;
  }
  const auto value = load<std::uint64_t>(bytes, index);
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  if (value > static_cast<std::uint64_t>(kMax)) return {kMax, false};
  return {static_cast<std::int64_t>(value)};
}

double floatAt(const std::vector<std::byte>& bytes, GgufType type, std::size_t index) {
  if (type == GgufType::kFloat32) return static_cast<double>(load<float>(bytes, index));
  return load<double>(bytes, index);
}

}  // namespace inferoscope::core
