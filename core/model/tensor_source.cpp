// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/tensor_source.h"

#include "core/error.h"
#include "core/model/gguf.h"
#include "core/model/synthetic.h"
#include "core/model/synthetic_metadata.h"
#include "core/model/weights.h"
#include "kernels/interleave.h"

#include <fmt/format.h>
#include <cstring>

namespace inferoscope::core {
namespace {

std::int64_t rowBytes(const GgufWriter::Tensor& tensor) {
  return kernels::storedBytes(*tensor.format, tensor.dims[0]);
}

class GgufSource final : public TensorSource {
 public:
  explicit GgufSource(const std::filesystem::path& path) : m_file(GgufFile::open(path)) {
    for (const auto& [key, value] : m_file.metadata().values()) {
      if (!key.starts_with("split.")) m_metadata.emplace(key, value);  // what is made of it is one file
    }
    for (const GgufTensor& tensor : m_file.tensors()) {
      m_tensors.push_back({tensor.name, &kernels::formatOf(tensor.format), tensor.dims});
    }
  }

  const GgufEntries& metadata() const override { return m_metadata; }
  const std::vector<GgufWriter::Tensor>& tensors() const override { return m_tensors; }
  void readRows(std::size_t tensor, std::int64_t first_row, std::span<std::byte> to) const override {
    m_file.read(m_file.tensors()[tensor], static_cast<std::uint64_t>(first_row * rowBytes(m_tensors[tensor])), to);
  }
  void checkUnchanged() const override { m_file.checkUnchanged(); }
  bool comesFrom(const std::filesystem::path& file) const override { return m_file.reads(file); }

 private:
  GgufFile m_file;
  GgufEntries m_metadata;
  std::vector<GgufWriter::Tensor> m_tensors;
};

class SyntheticSource final : public TensorSource {
 public:
  SyntheticSource(const std::string& source, const LoadProgress& progress, std::stop_token stop)
      : m_backend(makeCpuBackend(0)), m_model(*loadModel(source, *m_backend, progress, std::move(stop))) {
    m_metadata = syntheticMetadata(m_model);
    m_slots = weightSlots(m_model);
    for (const WeightSlot& slot : m_slots) {
      if (slot.vector) {
        m_tensors.push_back({slot.name, kernels::findFormat("f32"), {slot.num_cols}});
      } else {
        m_tensors.push_back({slot.name, &kernels::formatOf(slot.matrix->format), {slot.num_cols, slot.num_rows}});
      }
    }
  }

  const GgufEntries& metadata() const override { return m_metadata; }
  const std::vector<GgufWriter::Tensor>& tensors() const override { return m_tensors; }
  void readRows(std::size_t tensor, std::int64_t first_row, std::span<std::byte> to) const override {
    const WeightSlot& slot = m_slots[tensor];
    if (slot.vector) {
      std::memcpy(to.data(), *slot.vector, to.size());
      return;
    }
    const auto row_bytes = static_cast<std::size_t>(rowBytes(m_tensors[tensor]));
    for (int row = static_cast<int>(first_row); !to.empty(); ++row, to = to.subspan(row_bytes)) {
      kernels::copyRow(*slot.matrix, row, to.data());
    }
  }
  void checkUnchanged() const override {}
  bool comesFrom(const std::filesystem::path&) const override { return false; }

 private:
  std::unique_ptr<Backend> m_backend;
  Model m_model;
  GgufEntries m_metadata;
  std::vector<GgufWriter::Tensor> m_tensors;
  std::vector<WeightSlot> m_slots;  // into m_model
};

}  // namespace

std::unique_ptr<TensorSource> openTensors(const std::string& source, const LoadProgress& progress,
                                          std::stop_token stop) {
  if (isSynthetic(source)) return std::make_unique<SyntheticSource>(source, progress, std::move(stop));
  const auto model = describeModel(source);
  if (!model->config.unsupported.empty()) throw Error(fmt::format("{}: {}", source, model->config.unsupported));
  return std::make_unique<GgufSource>(modelFile(source));
}

}  // namespace inferoscope::core
