// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/gguf_part.h"

#include "core/error.h"
#include "core/model/utf8.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace inferoscope::core {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF numbers are read as they are stored");

constexpr std::uint32_t kDefaultAlignment = 32;
constexpr std::size_t kMaxKeyBytes = 65535;
constexpr std::size_t kMaxTensorNameBytes = 64;
constexpr std::uint32_t kMaxDims = 4;

// Reads the header from front to back through a window, so that a step costs no system call. Every length is compared
// with what is left of the file before anything of that length is allocated.
class HeaderReader {
 public:
  explicit HeaderReader(const InputFile& file) : m_file(file) {}

  std::uint64_t position() const { return m_position; }
  std::uint64_t left() const { return m_file.size() - m_position; }

  template <class T>
  T scalar(std::string_view what) {
    T value;
    bytes(std::as_writable_bytes(std::span(&value, 1)), what);
    return value;
  }

  std::string string(std::string_view what, std::size_t max_bytes = std::numeric_limits<std::size_t>::max()) {
    const std::uint64_t start = m_position;
    const auto length = scalar<std::uint64_t>(what);
    if (length > left()) {
      fail(start, fmt::format("{} claims {} bytes, but only {} are left of the file", what, length, left()));
    }
    if (length > max_bytes) {
      fail(start, fmt::format("{} has {} bytes, more than the limit of {}", what, length, max_bytes));
    }
    std::string text(length, '\0');
    bytes(std::as_writable_bytes(std::span(text)), what);
    return text;
  }

  void bytes(std::span<std::byte> to, std::string_view what) {
    if (to.size() > left()) fail(m_position, fmt::format("the file ends inside {}", what));
    while (!to.empty()) {
      if (m_position < m_window_start || m_position >= m_window_start + m_window.size()) loadWindow();
      const std::size_t offset = m_position - m_window_start;
      const std::size_t count = std::min(to.size(), m_window.size() - offset);
      std::memcpy(to.data(), m_window.data() + offset, count);
      m_position += count;
      to = to.subspan(count);
    }
  }

  [[noreturn]] void fail(std::uint64_t position, std::string_view what) const {
    throw Error(fmt::format("{}: {} (byte {})", m_file.name(), what, position));
  }

 private:
  void loadWindow() {
    constexpr std::uint64_t kWindowBytes = 256 * 1024;
    m_window.resize(std::min(kWindowBytes, left()));
    m_window_start = m_position;
    m_file.read(m_position, m_window);
  }

  const InputFile& m_file;
  std::uint64_t m_position = 0;
  std::vector<std::byte> m_window;
  std::uint64_t m_window_start = 0;
};

void checkMagic(HeaderReader& in) {
  if (in.left() == 0) in.fail(0, "the file is empty");
  std::array<char, 4> magic{};
  in.bytes(std::as_writable_bytes(std::span(magic)), "the 4 bytes that mark a GGUF file");
  const std::string_view found(magic.data(), magic.size());
  if (found != "GGUF") in.fail(0, fmt::format("this is not a GGUF file: it begins with \"{}\"", shown(found)));
}

void checkVersion(HeaderReader& in) {
  const std::uint64_t position = in.position();
  const auto version = in.scalar<std::uint32_t>("the version");
  const std::uint32_t swapped = __builtin_bswap32(version);
  if (version > 0xFFFF && swapped <= 0xFFFF) {
    in.fail(position, fmt::format("the file was written for the other byte order (big-endian, version {})", swapped));
  }
  if (version != 2 && version != 3) {
    in.fail(position, fmt::format("GGUF version {} is not supported (2 and 3 are)", version));
  }
}

// A count of things that take at least min_bytes each.
std::uint64_t readCount(HeaderReader& in, std::string_view what, std::uint64_t min_bytes) {
  const std::uint64_t position = in.position();
  const auto count = in.scalar<std::uint64_t>(what);
  if (count > in.left() / min_bytes) {
    in.fail(position, fmt::format("{} is {}, more than {} bytes can hold", what, count, in.left()));
  }
  return count;
}

GgufType readType(HeaderReader& in, std::string_view what) {
  const std::uint64_t position = in.position();
  const auto number = in.scalar<std::uint32_t>(what);
  if (number >= kNumGgufTypes) in.fail(position, fmt::format("{} has the unknown type {}", what, number));
  return static_cast<GgufType>(number);
}

void readArray(HeaderReader& in, GgufValue& value, std::string_view what) {
  value.element = readType(in, what);
  if (value.element == GgufType::kArray) in.fail(value.position, fmt::format("{} is an array of arrays", what));
  const bool is_text = value.element == GgufType::kString;
  const std::size_t min_bytes = is_text ? sizeof(std::uint64_t) : ggufTypeBytes(value.element);
  const std::uint64_t count = readCount(in, fmt::format("the count of {}", what), min_bytes);
  if (!is_text) {
    std::vector<std::byte> data(count * min_bytes);
    in.bytes(data, what);
    value.data = std::move(data);
    return;
  }
  StringList list;
  for (std::uint64_t i = 0; i < count; ++i) list.add(in.string(what));
  value.data = std::move(list);
}

GgufValue readValue(HeaderReader& in, std::string_view what) {
  GgufValue value;
  value.type = readType(in, what);
  value.position = in.position();
  if (value.type == GgufType::kArray) {
    readArray(in, value, what);
  } else if (value.type == GgufType::kString) {
    value.data = in.string(what);
  } else {
    std::vector<std::byte> data(ggufTypeBytes(value.type));
    in.bytes(data, what);
    value.data = std::move(data);
  }
  return value;
}

std::map<std::string, GgufValue, std::less<>> readMetadata(HeaderReader& in, std::uint64_t count) {
  std::map<std::string, GgufValue, std::less<>> values;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t position = in.position();
    std::string key = in.string(fmt::format("the key of metadata entry {}", i), kMaxKeyBytes);
    const std::string what = fmt::format("key {}", shown(key));
    GgufValue value = readValue(in, what);
    const bool is_new = values.try_emplace(std::move(key), std::move(value)).second;
    if (!is_new) in.fail(position, fmt::format("{}: appears twice", what));
  }
  return values;
}

std::uint64_t readAlignment(const GgufMetadata& metadata) {
  constexpr std::string_view kKey = "general.alignment";
  constexpr std::int64_t kMin = 8, kMax = 1 << 20;
  const GgufValue* value = metadata.find(kKey);
  if (!value) return kDefaultAlignment;
  if (value->type != GgufType::kUint32) {
    metadata.fail(kKey, fmt::format("expected uint32, found {}", value->typeName()));
  }
  const std::int64_t alignment = *metadata.integer(kKey);
  if (alignment < kMin || alignment > kMax || !std::has_single_bit(static_cast<std::uint64_t>(alignment))) {
    metadata.fail(kKey,
                  fmt::format("the alignment is {}; it must be a power of two from {} to {}", alignment, kMin, kMax));
  }
  return static_cast<std::uint64_t>(alignment);
}

// Tensor types by the numbers of the file format, for messages about those that have no kernel here.
std::string tensorTypeName(std::uint32_t number) {
  static constexpr std::array<std::string_view, 40> kNames{
      "f32",    "f16",   "q4_0",  "q4_1",   "",      "",      "q5_0",    "q5_1",   "q8_0",    "q8_1",
      "q2_k",   "q3_k",  "q4_k",  "q5_k",   "q6_k",  "q8_k",  "iq2_xxs", "iq2_xs", "iq3_xxs", "iq1_s",
      "iq4_nl", "iq3_s", "iq2_s", "iq4_xs", "i8",    "i16",   "i32",     "i64",    "f64",     "iq1_m",
      "bf16",   "",      "",      "",       "tq1_0", "tq2_0", "",        "",       "",        "mxfp4"};
  if (number < kNames.size() && !kNames[number].empty()) return std::string(kNames[number]);
  return fmt::format("number {}", number);
}

std::string supportedFormats() {
  std::vector<std::string_view> names;
  for (const kernels::Format& format : kernels::formats()) names.push_back(format.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::int64_t> readDims(HeaderReader& in, std::string_view what) {
  const std::uint64_t position = in.position();
  const auto num_dims = in.scalar<std::uint32_t>(what);
  if (num_dims < 1 || num_dims > kMaxDims) {
    in.fail(position, fmt::format("{}: {} dimensions; 1 to {} are allowed", what, num_dims, kMaxDims));
  }
  std::vector<std::int64_t> dims(num_dims);
  for (std::int64_t& dim : dims) dim = in.scalar<std::int64_t>(what);
  std::int64_t num_elems = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 1 || __builtin_mul_overflow(num_elems, dim, &num_elems)) {
      in.fail(position, fmt::format("{}: impossible dimensions {}", what, shownDims(dims)));
    }
  }
  return dims;
}

std::int64_t tensorBytes(const HeaderReader& in, std::uint64_t position, std::string_view what,
                         const GgufTensor& tensor) {
  const kernels::Format& format = kernels::formatOf(tensor.format);
  if (tensor.dims[0] % format.block_elems != 0) {
    in.fail(position, fmt::format("{}: a row has {} elements, which is not a whole number of {} blocks of {}", what,
                                  tensor.dims[0], format.name, format.block_elems));
  }
  std::int64_t bytes = format.block_bytes;
  bool wraps = __builtin_mul_overflow(bytes, tensor.dims[0] / format.block_elems, &bytes);
  for (const std::int64_t dim : std::span(tensor.dims).subspan(1)) wraps |= __builtin_mul_overflow(bytes, dim, &bytes);
  if (wraps) in.fail(position, fmt::format("{}: impossible dimensions {}", what, shownDims(tensor.dims)));
  return bytes;
}

// position is that of the data relative to the start of all tensor data until placeTensors() adds it.
GgufTensor readTensor(HeaderReader& in, std::uint64_t index, std::uint64_t alignment) {
  const std::uint64_t position = in.position();
  GgufTensor tensor;
  tensor.name = in.string(fmt::format("the name of tensor {}", index), kMaxTensorNameBytes);
  const std::string what = fmt::format("tensor {}", shown(tensor.name));
  tensor.dims = readDims(in, what);
  const auto type = in.scalar<std::uint32_t>(what);
  tensor.format = static_cast<kernels::FormatId>(type);
  if (!kernels::findFormat(tensor.format)) {
    in.fail(position, fmt::format("{}: tensor type {} is not supported ({} are)", what, tensorTypeName(type),
                                  supportedFormats()));
  }
  tensor.bytes = tensorBytes(in, position, what, tensor);
  tensor.position = in.scalar<std::uint64_t>(what);
  if (tensor.position % alignment != 0) {
    in.fail(position, fmt::format("{}: its data offset {} is not a multiple of the alignment {}", what, tensor.position,
                                  alignment));
  }
  return tensor;
}

// Checks that all data lies in the file, apart from each other, and turns offsets into positions in the file.
void placeTensors(const HeaderReader& in, std::vector<GgufTensor>& tensors, std::uint64_t alignment) {
  const std::uint64_t header_end = in.position();
  const std::uint64_t data_start = (header_end + alignment - 1) / alignment * alignment;
  const std::uint64_t file_bytes = header_end + in.left();
  const std::uint64_t data_bytes = file_bytes > data_start ? file_bytes - data_start : 0;
  std::vector<const GgufTensor*> by_offset;
  for (const GgufTensor& tensor : tensors) {
    const auto bytes = static_cast<std::uint64_t>(tensor.bytes);
    if (tensor.position > data_bytes || bytes > data_bytes - tensor.position) {
      in.fail(data_start, fmt::format("tensor {}: its data ({} bytes at offset {}) ends past the end of the file: {} "
                                      "bytes of tensor data are there",
                                      shown(tensor.name), bytes, tensor.position, data_bytes));
    }
    by_offset.push_back(&tensor);
  }
  std::ranges::sort(by_offset, {}, &GgufTensor::position);
  for (std::size_t i = 1; i < by_offset.size(); ++i) {
    const GgufTensor& before = *by_offset[i - 1];
    const GgufTensor& after = *by_offset[i];
    if (after.position - before.position < static_cast<std::uint64_t>(before.bytes)) {
      in.fail(data_start + after.position,
              fmt::format("tensors {} and {} overlap", shown(before.name), shown(after.name)));
    }
  }
  for (GgufTensor& tensor : tensors) tensor.position += data_start;
}

}  // namespace

GgufPart readGgufPart(const std::filesystem::path& path) {
  GgufPart part{InputFile(path), {}, {}};
  HeaderReader in(part.file);
  checkMagic(in);
  checkVersion(in);
  constexpr std::uint64_t kMinBytes = 8;  // each begins with the length of its name
  const std::uint64_t num_tensors = readCount(in, "the number of tensors", kMinBytes);
  const std::uint64_t num_entries = readCount(in, "the number of metadata entries", kMinBytes);
  part.metadata = GgufMetadata(part.file.name(), readMetadata(in, num_entries));
  const std::uint64_t alignment = readAlignment(part.metadata);
  for (std::uint64_t i = 0; i < num_tensors; ++i) part.tensors.push_back(readTensor(in, i, alignment));
  placeTensors(in, part.tensors, alignment);
  return part;
}

}  // namespace inferoscope::core
