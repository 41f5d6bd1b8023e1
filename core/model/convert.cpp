// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/convert.h"

#include "core/error.h"
#include "core/model/gguf_writer.h"
#include "core/model/requantize.h"
#include "core/model/storage.h"
#include "core/model/tensor_source.h"
#include "core/model/utf8.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>

namespace inferoscope::core {
namespace {

constexpr std::int64_t kChunkBytes = 8 << 20;  // a stop request is seen after each

// The numbers by which files name the format of most of their matrices, as other engines show it.
struct FileType {
  std::string_view format;
  std::uint32_t number;
};
constexpr std::array<FileType, 13> kFileTypes{{{"f32", 0},
                                               {"f16", 1},
                                               {"q4_0", 2},
                                               {"q4_1", 3},
                                               {"q8_0", 7},
                                               {"q5_0", 8},
                                               {"q5_1", 9},
                                               {"q2_k", 10},
                                               {"q3_k", 11},
                                               {"q4_k", 14},
                                               {"q5_k", 16},
                                               {"q6_k", 18},
                                               {"bf16", 32}}};

GgufEntries metadataFor(const kernels::Format& format, GgufEntries entries) {
  constexpr std::uint32_t kQuantizationVersion = 2;
  const auto type = std::ranges::find(kFileTypes, format.name, &FileType::format);
  if (type != kFileTypes.end()) {
    entries["general.file_type"] = ggufUint32(type->number);
  } else {
    entries.erase("general.file_type");  // none rather than a wrong one
  }
  entries["general.quantization_version"] = ggufUint32(kQuantizationVersion);
  return entries;
}

bool isMatrix(const GgufWriter::Tensor& tensor) {
  return tensor.dims.size() > 1;
}

std::vector<GgufWriter::Tensor> tensorsIn(const kernels::Format& format, std::vector<GgufWriter::Tensor> tensors) {
  for (GgufWriter::Tensor& tensor : tensors) {
    tensor.format = isMatrix(tensor) ? &formatThatHolds(format, tensor.dims[0]) : kernels::findFormat("f32");
  }
  return tensors;
}

// Copies tensors from a source to a file, a few MiB of rows at a time.
class TensorCopier {
 public:
  TensorCopier(const TensorSource& source, GgufWriter& out, const LoadProgress& progress, std::stop_token stop)
      : m_source(source), m_out(out), m_progress(progress), m_stop(std::move(stop)) {
    for (const GgufWriter::Tensor& tensor : source.tensors()) m_total_elems += tensor.numElems();
  }

  void copyAll() {
    for (std::size_t i = 0; i < m_out.tensors().size(); ++i) copy(i);
  }

 private:
  void copy(std::size_t index) {
    const GgufWriter::Tensor& from = m_source.tensors()[index];
    const GgufWriter::Tensor& to = m_out.tensors()[index];
    const std::int64_t num_cols = from.dims[0];
    const std::int64_t num_rows = from.numElems() / num_cols;
    const std::int64_t from_bytes = kernels::storedBytes(*from.format, num_cols);
    const std::int64_t to_bytes = kernels::storedBytes(*to.format, num_cols);
    const std::int64_t chunk_rows = std::max<std::int64_t>(1, kChunkBytes / std::max(from_bytes, to_bytes));
    for (std::int64_t row = 0; row < num_rows; row += chunk_rows) {
      const std::int64_t rows = std::min(chunk_rows, num_rows - row);
      m_read.resize(static_cast<std::size_t>(rows * from_bytes));
      m_source.readRows(index, row, m_read);
      if (from.format == to.format) {
        m_out.write(m_read);
      } else {
        m_stored.resize(static_cast<std::size_t>(rows * to_bytes));
        if (!requantize({from.format, static_cast<int>(rows), num_cols}, m_read, *to.format, m_stored)) {
          throw Error(fmt::format("{}: tensor {}: holds a value that is not finite, or too large for {}", m_out.name(),
                                  shown(to.name), to.format->name));
        }
        m_out.write(m_stored);
      }
      advance(rows * num_cols);
    }
  }

  void advance(std::int64_t num_elems) {
    if (m_stop.stop_requested()) throw Cancelled();
    m_done_elems += num_elems;
    if (m_progress) m_progress("converting", static_cast<double>(m_done_elems) / static_cast<double>(m_total_elems));
  }

  const TensorSource& m_source;
  GgufWriter& m_out;
  const LoadProgress& m_progress;
  std::stop_token m_stop;
  std::int64_t m_total_elems = 0;
  std::int64_t m_done_elems = 0;
  std::vector<std::byte> m_read;
  std::vector<std::byte> m_stored;
};

Conversion described(const GgufWriter& out, const kernels::Format& format) {
  Conversion conversion;
  std::vector<StoredMatrix> matrices;
  for (const GgufWriter::Tensor& tensor : out.tensors()) {
    conversion.format_bytes[std::string(tensor.format->name)] += tensor.bytes();
    if (isMatrix(tensor)) matrices.push_back({tensor.name, tensor.format});
  }
  conversion.file_bytes = out.fileBytes();
  conversion.notices = otherwiseStored(matrices, format);
  return conversion;
}

}  // namespace

Conversion convertModel(const std::string& source, const std::filesystem::path& out, const kernels::Format& format,
                        const LoadProgress& progress, std::stop_token stop) {
  const std::unique_ptr<TensorSource> tensors = openTensors(source, progress, stop);
  if (tensors->comesFrom(out)) {
    throw Error(fmt::format("{}: is what is to be converted; name another file", shown(out.string(), 4096)));
  }
  GgufWriter file(out, metadataFor(format, tensors->metadata()), tensorsIn(format, tensors->tensors()));
  TensorCopier(*tensors, file, progress, std::move(stop)).copyAll();
  tensors->checkUnchanged();
  file.commit();
  return described(file, format);
}

}  // namespace inferoscope::core
