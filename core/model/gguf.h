// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/gguf_value.h"
#include "core/model/input_file.h"
#include "kernels/format.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inferoscope::core {

struct GgufTensor {
  std::string name;
  kernels::FormatId format{};
  std::vector<std::int64_t> dims;  // the first runs fastest: [num_cols, num_rows]
  std::uint64_t position = 0;      // of its first byte in its file
  std::int64_t bytes = 0;
  std::size_t part = 0;  // which file of a split set
};

std::string shownDims(std::span<const std::int64_t> dims);  // "[576, 49152]"

// The metadata of a GGUF file. Each getter checks the type; an integer may be stored in any integer type that holds it.
// A key that must be there, or one of another type, is an Error that names file, key and byte position.
class GgufMetadata {
 public:
  GgufMetadata() = default;
  GgufMetadata(std::string file, std::map<std::string, GgufValue, std::less<>> values)
      : m_file(std::move(file)), m_values(std::move(values)) {}

  const std::string& file() const { return m_file; }
  const GgufValue* find(std::string_view key) const;  // null: absent
  const std::map<std::string, GgufValue, std::less<>>& values() const { return m_values; }

  std::optional<std::int64_t> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;  // a float or an integer
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string_view> text(std::string_view key) const;
  const StringList* strings(std::string_view key) const;  // null: absent
  std::optional<std::vector<std::int64_t>> integers(
      std::string_view key) const;  // an array, or a scalar as one element

  // value, or an Error "key K: is missing" if there is none
  template <class T>
  T required(std::string_view key, std::optional<T> value) const {
    if (!value) failMissing(key);
    return *value;
  }

  [[noreturn]] void failMissing(std::string_view key) const;
  [[noreturn]] void fail(std::string_view key, std::string_view what) const;  // "FILE: key K: WHAT (byte N)"

 private:
  [[noreturn]] void failType(std::string_view key, const GgufValue& value, std::string_view expected) const;
  std::int64_t integerElement(std::string_view key, const GgufValue& value, GgufType type, std::size_t index) const;

  std::string m_file;
  std::map<std::string, GgufValue, std::less<>> m_values;
};

// An open GGUF model, version 2 or 3: one file or a split set. All counts, lengths, types, shapes and byte ranges were
// checked when it was opened. See https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
class GgufFile {
 public:
  // Any file of a split set opens the whole set.
  static GgufFile open(const std::filesystem::path& path);

  const std::string& name() const { return metadata().file(); }
  const GgufMetadata& metadata() const { return m_metadata; }
  std::span<const GgufTensor> tensors() const { return m_tensors; }
  const GgufTensor* findTensor(std::string_view name) const;

  // Bytes of a tensor from `offset` on.
  void read(const GgufTensor& tensor, std::uint64_t offset, std::span<std::byte> to) const;
  void checkUnchanged() const;
  bool reads(const std::filesystem::path& path) const;  // whether it is one of the files read here, by any name

 private:
  void addPart(struct GgufPart part);
  void addOtherParts(const std::filesystem::path& first, std::int64_t num_parts);

  std::vector<InputFile> m_files;
  GgufMetadata m_metadata;  // of the first part
  std::vector<GgufTensor> m_tensors;
  std::map<std::string, std::size_t, std::less<>> m_tensor_index;
};

}  // namespace inferoscope::core
