// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/weight_variants.h"

#include "core/error.h"
#include "core/model/requantize.h"
#include "core/model/storage.h"
#include "core/model/weights.h"
#include "kernels/interleave.h"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>

namespace inferoscope::core {
namespace {

constexpr std::int64_t kChunkBytes = 4 << 20;  // a stop request is seen after each

// Rows of a matrix in whatever layout, one after the other.
std::vector<std::byte> rowsOf(const kernels::WeightMatrix& w, int first_row, int num_rows) {
  const auto row_bytes = static_cast<std::size_t>(kernels::storedBytes(kernels::formatOf(w.format), w.num_cols));
  std::vector<std::byte> rows(static_cast<std::size_t>(num_rows) * row_bytes);
  for (int i = 0; i < num_rows; ++i) {
    kernels::copyRow(w, first_row + i, rows.data() + static_cast<std::size_t>(i) * row_bytes);
  }
  return rows;
}

// Fills a variant's memory from the model it is made of.
class VariantMaker {
 public:
  VariantMaker(Backend& backend, Buffer& memory, std::int64_t total_bytes, const LoadProgress& progress,
               std::stop_token stop)
      : m_backend(backend),
        m_memory(memory),
        m_total_bytes(total_bytes),
        m_progress(progress),
        m_stop(std::move(stop)) {}

  void fill(const PlacedWeight& to, const WeightSlot& from) {
    if (from.vector) {
      const std::span values(*from.vector, static_cast<std::size_t>(from.num_cols));
      m_backend.upload(m_memory, to.offset, std::as_bytes(values));
      advance(to.bytes);
    } else {
      fillMatrix(to, *from.matrix);
    }
  }

 private:
  void fillMatrix(const PlacedWeight& to, const kernels::WeightMatrix& from) {
    const kernels::Format& stored = kernels::formatOf(from.format);
    const std::int64_t row_bytes = kernels::storedBytes(*to.format, from.num_cols);
    const int most_rows =
        std::max(1, static_cast<int>(kChunkBytes / row_bytes) / Backend::kUploadRows) * Backend::kUploadRows;
    std::vector<std::byte> out;
    for (int row = 0; row < from.num_rows; row += most_rows) {
      const int num_rows = std::min(most_rows, from.num_rows - row);
      const std::vector<std::byte> rows = rowsOf(from, row, num_rows);
      out.resize(static_cast<std::size_t>(num_rows * row_bytes));
      if (!requantize({&stored, num_rows, from.num_cols}, rows, *to.format, out)) {
        throw Error(
            fmt::format("{}: holds a value that is not finite, or too large for {}", to.slot.name, to.format->name));
      }
      m_backend.uploadRows(m_memory, to.offset, to.matrix(), row, out);
      advance(out.size());
    }
  }

  void advance(std::size_t bytes) {
    if (m_stop.stop_requested()) throw Cancelled();
    m_done_bytes += static_cast<std::int64_t>(bytes);
    if (!m_progress) return;
    m_progress("re-quantizing weights", static_cast<double>(m_done_bytes) / static_cast<double>(m_total_bytes));
  }

  Backend& m_backend;
  Buffer& m_memory;
  std::int64_t m_total_bytes;
  const LoadProgress& m_progress;
  std::stop_token m_stop;
  std::int64_t m_done_bytes = 0;
};

std::vector<PlacedWeight> placesIn(const kernels::Format& format, Model& model) {
  std::vector<PlacedWeight> weights;
  std::vector<StoredMatrix> matrices;
  for (const WeightSlot& slot : weightSlots(model)) {
    const kernels::Format* kept = slot.vector ? kernels::findFormat("f32") : &formatThatHolds(format, slot.num_cols);
    weights.push_back({slot, kept});
    if (slot.matrix) matrices.push_back({slot.name, kept});
  }
  model.notices.push_back(
      fmt::format("weights as {} are made of what the file stores: no more exact than that", format.name));
  std::ranges::move(otherwiseStored(matrices, format), std::back_inserter(model.notices));
  return weights;
}

}  // namespace

std::shared_ptr<const Model> makeVariant(const Model& source, const kernels::Format& format, Backend& backend,
                                         const LoadProgress& progress, std::stop_token stop) {
  Model from = source;  // its slots point to the source's weights
  const std::vector<WeightSlot> slots = weightSlots(from);
  const auto model = std::make_shared<Model>(source);
  model->memory.clear();
  model->format_bytes.clear();
  model->weight_bytes = 0;
  std::vector<PlacedWeight> weights = placesIn(format, *model);
  const std::size_t memory_bytes = placeWeights(weights, &backend);
  for (const PlacedWeight& weight : weights) {
    model->format_bytes[std::string(weight.format->name)] += static_cast<std::int64_t>(weight.bytes);
    model->weight_bytes += static_cast<std::int64_t>(weight.bytes);
  }
  std::shared_ptr<Buffer> memory =
      backend.allocate(memory_bytes, fmt::format("the weights of {} as {}", source.config.name, format.name));
  VariantMaker maker(backend, *memory, model->weight_bytes, progress, std::move(stop));
  for (std::size_t i = 0; i < weights.size(); ++i) maker.fill(weights[i], slots[i]);
  bindWeights(*model, weights, std::move(memory));
  return model;
}

std::shared_ptr<const Model> WeightVariants::get(const std::string& weights, Backend& backend,
                                                 const LoadProgress& progress, std::stop_token stop) {
  if (weights == kAsStored) return m_source;
  const auto kept = std::ranges::find(m_kept, weights, &Kept::weights);
  if (kept != m_kept.end()) {
    m_kept.splice(m_kept.begin(), m_kept, kept);
  } else {
    const kernels::Format* format = kernels::findFormat(weights);
    if (!format) throw Error(fmt::format("there is no format \"{}\" for weights", weights));
    m_kept.push_front({weights, makeVariant(*m_source, *format, backend, progress, std::move(stop))});
  }
  std::shared_ptr<const Model> model = m_kept.front().model;
  dropUnused();
  return model;
}

std::int64_t WeightVariants::keptBytes() const {
  std::int64_t bytes = 0;
  for (const Kept& kept : m_kept) bytes += kept.model->weight_bytes;
  return bytes;
}

void WeightVariants::dropUnused() {
  std::int64_t bytes = keptBytes();
  for (auto kept = m_kept.end(); kept != m_kept.begin() && bytes > m_budget_bytes;) {
    --kept;
    if (kept->model.use_count() > 1) continue;
    bytes -= kept->model->weight_bytes;
    kept = m_kept.erase(kept);
  }
}

}  // namespace inferoscope::core
