// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/gguf.h"

#include "core/error.h"
#include "core/model/gguf_part.h"
#include "core/model/utf8.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <utility>

namespace inferoscope::core {
namespace {

// A part of a split set is named PREFIX-00001-of-00003.gguf.
struct SplitName {
  std::filesystem::path folder;
  std::string prefix;
  int number = 0;
  int count = 0;

  std::filesystem::path part(std::int64_t part_number) const {
    return folder / fmt::format("{}-{:05}-of-{:05}.gguf", prefix, part_number, count);
  }
};

std::optional<int> fiveDigits(std::string_view text) {
  if (text.size() != 5 || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) return {};
  int number = 0;
  for (const char digit : text) number = number * 10 + (digit - '0');
  return number;
}

std::optional<SplitName> splitNameOf(const std::filesystem::path& path) {
  constexpr std::size_t kSuffixBytes = std::string_view("-00001-of-00003.gguf").size();
  const std::string name = path.filename().string();
  if (name.size() < kSuffixBytes) return {};
  const std::string_view suffix = std::string_view(name).substr(name.size() - kSuffixBytes);
  const auto number = fiveDigits(suffix.substr(1, 5));
  const auto count = fiveDigits(suffix.substr(10, 5));
  if (suffix[0] != '-' || suffix.substr(6, 4) != "-of-" || suffix.substr(15) != ".gguf" || !number || !count) return {};
  return SplitName{path.parent_path(), name.substr(0, name.size() - kSuffixBytes), *number, *count};
}

std::int64_t numParts(const GgufMetadata& metadata) {
  return metadata.integer("split.count").value_or(1);
}

// What a part says of its place must be what its name says.
void checkPlace(const GgufMetadata& metadata, const SplitName& name, std::int64_t number) {
  if (numParts(metadata) != name.count) {
    metadata.fail("split.count",
                  fmt::format("is {}, but by its name this is part {} of {}", numParts(metadata), number, name.count));
  }
  const std::int64_t index = metadata.required("split.no", metadata.integer("split.no"));
  if (index != number - 1) {
    metadata.fail("split.no",
                  fmt::format("is {}, but by its name this is part {} (split.no {})", index, number, number - 1));
  }
}

}  // namespace

std::string shownDims(std::span<const std::int64_t> dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto found = m_values.find(key);
  return found == m_values.end() ? nullptr : &found->second;
}

std::int64_t GgufMetadata::integerElement(std::string_view key, const GgufValue& value, GgufType type,
                                          std::size_t index) const {
  const StoredInteger stored = integerAt(std::get<std::vector<std::byte>>(value.data), type, index);
  if (!stored.fits) fail(key, "the integer is too large");
  return stored.value;
}

std::optional<std::int64_t> GgufMetadata::integer(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return {};
  if (!isIntegerType(value->type)) failType(key, *value, "integer");
  return integerElement(key, *value, value->type, 0);
}

std::optional<double> GgufMetadata::number(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return {};
  if (isIntegerType(value->type)) return static_cast<double>(*integer(key));
  if (value->type != GgufType::kFloat32 && value->type != GgufType::kFloat64) failType(key, *value, "number");
  return floatAt(std::get<std::vector<std::byte>>(value->data), value->type, 0);
}

std::optional<bool> GgufMetadata::flag(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return {};
  if (value->type != GgufType::kBool) failType(key, *value, "bool");
  return std::get<std::vector<std::byte>>(value->data)[0] != std::byte{0};
}

std::optional<std::string_view> GgufMetadata::text(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return {};
  if (value->type != GgufType::kString) failType(key, *value, "string");
  return std::get<std::string>(value->data);
}

const StringList* GgufMetadata::strings(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return nullptr;
  const StringList* list = std::get_if<StringList>(&value->data);
  if (!list) failType(key, *value, "array of string");
  return list;
}

std::optional<std::vector<std::int64_t>> GgufMetadata::integers(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return {};
  if (value->type != GgufType::kArray) return std::vector<std::int64_t>{*integer(key)};
  if (!isIntegerType(value->element)) failType(key, *value, "array of integer");
  const std::size_t count = std::get<std::vector<std::byte>>(value->data).size() / ggufTypeBytes(value->element);
  std::vector<std::int64_t> elements;
  for (std::size_t i = 0; i < count; ++i) elements.push_back(integerElement(key, *value, value->element, i));
  return elements;
}

void GgufMetadata::failMissing(std::string_view key) const {
  throw Error(fmt::format("{}: key {}: is missing", m_file, key));
}

void GgufMetadata::fail(std::string_view key, std::string_view what) const {
  const GgufValue* value = find(key);
  throw Error(value ? fmt::format("{}: key {}: {} (byte {})", m_file, key, what, value->position)
                    : fmt::format("{}: key {}: {}", m_file, key, what));
}

void GgufMetadata::failType(std::string_view key, const GgufValue& value, std::string_view expected) const {
  fail(key, fmt::format("expected {}, found {}", expected, value.typeName()));
}

GgufFile GgufFile::open(const std::filesystem::path& path) {
  GgufFile file;
  GgufPart part = readGgufPart(path);
  const std::int64_t num_parts = numParts(part.metadata);
  if (num_parts <= 1) {
    file.addPart(std::move(part));
    return file;
  }
  const auto name = splitNameOf(path);
  if (!name) {
    part.metadata.fail("split.count", fmt::format("this is one of {} files of a split model; such a file must be named "
                                                  "like NAME-00001-of-{:05}.gguf",
                                                  num_parts, num_parts));
  }
  checkPlace(part.metadata, *name, name->number);
  file.addPart(name->number == 1 ? std::move(part) : readGgufPart(name->part(1)));
  file.addOtherParts(path, num_parts);
  return file;
}

void GgufFile::addOtherParts(const std::filesystem::path& path, std::int64_t num_parts) {
  const SplitName name = *splitNameOf(path);
  checkPlace(m_metadata, name, 1);
  for (std::int64_t number = 2; number <= num_parts; ++number) {
    if (!std::filesystem::exists(name.part(number))) {
      throw Error(fmt::format("{}: part {} of {} of this model is not there: {}", m_metadata.file(), number, num_parts,
                              name.part(number).string()));
    }
    GgufPart part = readGgufPart(name.part(number));
    checkPlace(part.metadata, name, number);
    addPart(std::move(part));
  }
  constexpr std::string_view kKey = "split.tensors.count";
  const std::int64_t expected = m_metadata.required(kKey, m_metadata.integer(kKey));
  if (expected != static_cast<std::int64_t>(m_tensors.size())) {
    m_metadata.fail(kKey,
                    fmt::format("is {}, but the {} files have {} tensors", expected, num_parts, m_tensors.size()));
  }
}

void GgufFile::addPart(GgufPart part) {
  for (GgufTensor& tensor : part.tensors) {
    tensor.part = m_files.size();
    if (!m_tensor_index.try_emplace(tensor.name, m_tensors.size()).second) {
      throw Error(fmt::format("{}: tensor {}: appears twice (the second at byte {})", part.file.name(),
                              shown(tensor.name), tensor.position));
    }
    m_tensors.push_back(std::move(tensor));
  }
  if (m_files.empty()) m_metadata = std::move(part.metadata);
  m_files.push_back(std::move(part.file));
}

const GgufTensor* GgufFile::findTensor(std::string_view name) const {
  const auto found = m_tensor_index.find(name);
  return found == m_tensor_index.end() ? nullptr : &m_tensors[found->second];
}

void GgufFile::read(const GgufTensor& tensor, std::uint64_t offset, std::span<std::byte> to) const {
  m_files[tensor.part].read(tensor.position + offset, to);
}

void GgufFile::checkUnchanged() const {
  for (const InputFile& file : m_files) file.checkUnchanged();
}

bool GgufFile::reads(const std::filesystem::path& path) const {
  return std::ranges::any_of(m_files, [&](const InputFile& file) { return file.is(path); });
}

}  // namespace inferoscope::core
