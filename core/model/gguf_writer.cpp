// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/gguf_writer.h"

#include "core/model/utf8.h"

#include <cassert>
#include <cstring>

namespace inferoscope::core {
namespace {

constexpr std::size_t kDefaultAlignment = 32;

std::size_t padded(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

template <class T>
std::vector<std::byte> bytesOf(std::span<const T> numbers) {
  const auto bytes = std::as_bytes(numbers);
  return {bytes.begin(), bytes.end()};
}

template <class T>
GgufValue scalar(GgufType type, T number) {
  return {.type = type, .element = {}, .position = 0, .data = bytesOf(std::span<const T>(&number, 1))};
}

// Puts a header together in memory.
class HeaderBytes {
 public:
  std::vector<std::byte> take() { return std::move(m_bytes); }

  void bytes(std::span<const std::byte> data) { m_bytes.insert(m_bytes.end(), data.begin(), data.end()); }
  void text(std::string_view text) {
    number<std::uint64_t>(text.size());
    bytes(std::as_bytes(std::span(text)));
  }
  template <class T>
  void number(T value) {
    bytes(std::as_bytes(std::span<const T>(&value, 1)));
  }
  void type(GgufType type) { number(static_cast<std::uint32_t>(type)); }

  void value(const GgufValue& value) {
    type(value.type);
    const bool is_array = value.type == GgufType::kArray;
    if (is_array) type(value.element);
    if (const auto* list = std::get_if<StringList>(&value.data)) {
      number<std::uint64_t>(list->size());
      for (std::size_t i = 0; i < list->size(); ++i) text((*list)[i]);
    } else if (const auto* string = std::get_if<std::string>(&value.data)) {
      text(*string);
    } else {
      const auto& data = std::get<std::vector<std::byte>>(value.data);
      if (is_array) number<std::uint64_t>(data.size() / ggufTypeBytes(value.element));
      bytes(data);
    }
  }

 private:
  std::vector<std::byte> m_bytes;
};

std::size_t alignmentIn(const GgufEntries& metadata) {
  const auto found = metadata.find("general.alignment");
  if (found == metadata.end()) return kDefaultAlignment;
  return static_cast<std::size_t>(
      integerAt(std::get<std::vector<std::byte>>(found->second.data), found->second.type, 0).value);
}

std::vector<std::byte> headerOf(const GgufEntries& metadata, std::span<const GgufWriter::Tensor> tensors,
                                std::size_t alignment) {
  HeaderBytes header;
  header.bytes(std::as_bytes(std::span(std::string_view("GGUF"))));
  header.number<std::uint32_t>(3);
  header.number<std::uint64_t>(tensors.size());
  header.number<std::uint64_t>(metadata.size());
  for (const auto& [key, value] : metadata) {
    header.text(key);
    header.value(value);
  }
  std::uint64_t offset = 0;
  for (const GgufWriter::Tensor& tensor : tensors) {
    header.text(tensor.name);
    header.number(static_cast<std::uint32_t>(tensor.dims.size()));
    for (const std::int64_t dim : tensor.dims) header.number(dim);
    header.number(static_cast<std::uint32_t>(tensor.format->id));
    header.number(offset);
    offset += padded(static_cast<std::size_t>(tensor.bytes()), alignment);
  }
  std::vector<std::byte> bytes = header.take();
  bytes.resize(padded(bytes.size(), alignment));
  return bytes;
}

std::uint64_t fileBytesOf(std::size_t header_bytes, std::span<const GgufWriter::Tensor> tensors,
                          std::size_t alignment) {
  std::uint64_t bytes = header_bytes;
  for (const GgufWriter::Tensor& tensor : tensors) bytes += padded(static_cast<std::size_t>(tensor.bytes()), alignment);
  return bytes;
}

}  // namespace

GgufValue ggufText(std::string text) {
  return {.type = GgufType::kString, .element = {}, .position = 0, .data = std::move(text)};
}

GgufValue ggufUint32(std::uint32_t number) {
  return scalar(GgufType::kUint32, number);
}

GgufValue ggufFloat32(float number) {
  return scalar(GgufType::kFloat32, number);
}

GgufValue ggufFlag(bool flag) {
  return scalar(GgufType::kBool, std::uint8_t{flag});
}

GgufValue ggufTexts(StringList texts) {
  return {.type = GgufType::kArray, .element = GgufType::kString, .position = 0, .data = std::move(texts)};
}

GgufValue ggufInt32s(std::span<const std::int32_t> numbers) {
  return {.type = GgufType::kArray, .element = GgufType::kInt32, .position = 0, .data = bytesOf(numbers)};
}

std::int64_t GgufWriter::Tensor::numElems() const {
  std::int64_t num_elems = 1;
  for (const std::int64_t dim : dims) num_elems *= dim;
  return num_elems;
}

std::int64_t GgufWriter::Tensor::bytes() const {
  return kernels::storedBytes(*format, numElems());
}

GgufWriter::GgufWriter(const std::filesystem::path& path, const GgufEntries& metadata, std::vector<Tensor> tensors)
    : m_tensors(std::move(tensors)),
      m_alignment(alignmentIn(metadata)),
      m_header(headerOf(metadata, m_tensors, m_alignment)),
      m_file_bytes(fileBytesOf(m_header.size(), m_tensors, m_alignment)),
      m_file(path, shown(path.string(), 4096), m_file_bytes) {
  m_file.write(m_header);
  m_header = {};  // a vocabulary is large
}

void GgufWriter::write(std::span<const std::byte> data) {
  assert(m_tensor < m_tensors.size());
  m_file.write(data);
  m_tensor_bytes += static_cast<std::int64_t>(data.size());
  const std::int64_t whole = m_tensors[m_tensor].bytes();
  assert(m_tensor_bytes <= whole);
  if (m_tensor_bytes < whole) return;
  const auto bytes = static_cast<std::size_t>(whole);
  m_file.write(std::vector<std::byte>(padded(bytes, m_alignment) - bytes));
  ++m_tensor;
  m_tensor_bytes = 0;
}

void GgufWriter::commit() {
  assert(m_tensor == m_tensors.size());
  m_file.commit();
}

}  // namespace inferoscope::core
