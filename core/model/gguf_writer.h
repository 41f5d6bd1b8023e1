// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/gguf_value.h"
#include "core/output_file.h"
#include "kernels/format.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace inferoscope::core {

using GgufEntries = std::map<std::string, GgufValue, std::less<>>;

// Metadata values.
GgufValue ggufText(std::string text);
GgufValue ggufUint32(std::uint32_t number);
GgufValue ggufFloat32(float number);
GgufValue ggufFlag(bool flag);
GgufValue ggufTexts(StringList texts);
GgufValue ggufInt32s(std::span<const std::int32_t> numbers);

// A GGUF file of version 3 that appears when it is whole. Tensor data is written in the order of `tensors`.
class GgufWriter {
 public:
  struct Tensor {
    std::string name;
    const kernels::Format* format = nullptr;
    std::vector<std::int64_t> dims;  // the first runs fastest

    std::int64_t numElems() const;
    std::int64_t bytes() const;
  };

  GgufWriter(const std::filesystem::path& path, const GgufEntries& metadata, std::vector<Tensor> tensors);

  const std::string& name() const { return m_file.name(); }
  std::span<const Tensor> tensors() const { return m_tensors; }
  std::uint64_t fileBytes() const { return m_file_bytes; }

  // The data that follows: of one tensor or a part of it.
  void write(std::span<const std::byte> data);
  void commit();  // all data must have been written

 private:
  std::vector<Tensor> m_tensors;
  std::size_t m_alignment;
  std::vector<std::byte> m_header;
  std::uint64_t m_file_bytes;
  OutputFile m_file;
  std::size_t m_tensor = 0;         // the one being written
  std::int64_t m_tensor_bytes = 0;  // of it, written so far
};

}  // namespace inferoscope::core
