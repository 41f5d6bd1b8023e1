// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace inferoscope::core {

// The numbers are those of the file format.
enum class GgufType : std::uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64
};
inline constexpr std::uint32_t kNumGgufTypes = 13;

std::string_view ggufTypeName(GgufType type);  // "uint32"
bool isIntegerType(GgufType type);
std::size_t ggufTypeBytes(GgufType type);  // 0 for strings and arrays

// Many strings in one piece of memory: a vocabulary has hundreds of thousands.
class StringList {
 public:
  void add(std::string_view text) {
    m_text += text;
    m_ends.push_back(m_text.size());
  }
  std::size_t size() const { return m_ends.size(); }
  std::string_view operator[](std::size_t i) const {
    const std::size_t start = i == 0 ? 0 : m_ends[i - 1];
    return std::string_view(m_text).substr(start, m_ends[i] - start);
  }

 private:
  std::string m_text;
  std::vector<std::size_t> m_ends;
};

// One metadata entry as stored. A scalar or an array of numbers keeps its bytes; nothing is converted before it is
// asked for, so memory never exceeds what the file holds.
struct GgufValue {
  GgufType type{};
  GgufType element{};          // of an array
  std::uint64_t position = 0;  // of the value in the file
  std::variant<std::vector<std::byte>, std::string, StringList> data;

  std::string typeName() const;  // "uint32", "array of string"
};

// The element at `index` of `bytes`, which holds numbers of `type`. Integers beyond int64 give INT64_MAX + `fits`
// false.
struct StoredInteger {
  std::int64_t value = 0;
  bool fits = true;
};
StoredInteger integerAt(const std::vector<std::byte>& bytes, GgufType type, std::size_t index);
double floatAt(const std::vector<std::byte>& bytes, GgufType type, std::size_t index);

}  // namespace inferoscope::core
