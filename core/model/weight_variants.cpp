// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/weight_variants.h"

#include "core/error.h"
#include "core/model/requantize.h"
#include "core/model/storage.h"
#include "core/model/weights.h"
#include "kernels/interleave.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <string_view>

namespace inferoscope::core {
namespace {

constexpr std::int64_t kChunkBytes = 4 << 20;  // a stop request is seen after each
constexpr double kBudgetShare = 0.8;           // of the free memory: a KV cache and activations come too

double mib(std::int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

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
      std::vector<std::byte> rows = rowsOf(from, row, num_rows);
      out.resize(static_cast<std::size_t>(num_rows * row_bytes));
      if (stored.id == to.format->id) {
        out.swap(rows);
      } else if (!requantize({&stored, num_rows, from.num_cols}, rows, *to.format, out)) {
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

// In the order of weightSlots(), without places.
std::vector<PlacedWeight> weightsIn(const kernels::Format& format, Model& model) {
  std::vector<PlacedWeight> weights;
  for (const WeightSlot& slot : weightSlots(model)) {
    const kernels::Format* kept = slot.vector ? kernels::findFormat("f32") : &formatThatHolds(format, slot.num_cols);
    weights.push_back({slot, kept});
  }
  return weights;
}

// Whether every matrix is in the format already, or in the one that stands in.
bool holdsAlready(const Model& source, const kernels::Format& format) {
  Model model = source;
  return std::ranges::all_of(weightSlots(model), [&](const WeightSlot& slot) {
    return slot.vector || slot.matrix->format == formatThatHolds(format, slot.num_cols).id;
  });
}

std::string whatItIsMadeOf(const Model& source, const kernels::Format& format) {
  Model model = source;
  std::set<std::string_view> stored;
  for (const WeightSlot& slot : weightSlots(model)) {
    if (slot.matrix) stored.insert(kernels::formatOf(slot.matrix->format).name);
  }
  return fmt::format("weights as {} are made of the stored {}: no more exact than that", format.name,
                     fmt::join(stored, ", "));
}

// Its bytes and notices, and where the weights will lie; returns the bytes of the buffer.
std::size_t plan(Model& model, const Model& source, const kernels::Format& format, std::vector<PlacedWeight>& weights,
                 const Backend* backend) {
  model.weights = format.name;
  model.memory.clear();
  model.format_bytes.clear();
  model.weight_bytes = 0;
  weights = weightsIn(format, model);
  const std::size_t memory_bytes = placeWeights(weights, backend);
  std::vector<StoredMatrix> matrices;
  for (const PlacedWeight& weight : weights) {
    model.format_bytes[std::string(weight.format->name)] += static_cast<std::int64_t>(weight.bytes);
    model.weight_bytes += static_cast<std::int64_t>(weight.bytes);
    if (weight.slot.matrix) matrices.push_back({weight.slot.name, weight.format});
  }
  model.notices.push_back(whatItIsMadeOf(source, format));
  std::ranges::move(otherwiseStored(matrices, format), std::back_inserter(model.notices));
  return memory_bytes;
}

const kernels::Format& formatNamed(const std::string& weights) {
  const kernels::Format* format = kernels::findFormat(weights);
  if (!format) throw Error(fmt::format("there is no format \"{}\" for weights", weights));
  return *format;
}

// The same weights under the name of the format that they are in.
std::shared_ptr<const Model> renamed(const Model& source, const std::string& weights) {
  const auto model = std::make_shared<Model>(source);
  model->weights = weights;
  return model;
}

}  // namespace

std::shared_ptr<const Model> makeVariant(const Model& source, const kernels::Format& format, Backend& backend,
                                         const LoadProgress& progress, std::stop_token stop) {
  Model from = source;  // its slots point to the source's weights
  const std::vector<WeightSlot> slots = weightSlots(from);
  const auto model = std::make_shared<Model>(source);
  std::vector<PlacedWeight> weights;
  const std::size_t memory_bytes = plan(*model, source, format, weights, &backend);
  std::shared_ptr<Buffer> memory =
      backend.allocate(memory_bytes, fmt::format("the weights of {} as {}", source.config.name, format.name));
  VariantMaker maker(backend, *memory, model->weight_bytes, progress, std::move(stop));
  for (std::size_t i = 0; i < weights.size(); ++i) maker.fill(weights[i], slots[i]);
  bindWeights(*model, weights, std::move(memory));
  return model;
}

std::shared_ptr<const Model> describeAs(std::shared_ptr<const Model> source, const std::string& weights) {
  if (weights == kAsStored) return source;
  const kernels::Format& format = formatNamed(weights);
  if (holdsAlready(*source, format)) return renamed(*source, weights);
  const auto model = std::make_shared<Model>(*source);
  std::vector<PlacedWeight> places;
  plan(*model, *source, format, places, nullptr);
  bindWeights(*model, places, nullptr);
  return model;
}

std::shared_ptr<const Model> makeWeights(std::shared_ptr<const Model> source, const std::string& weights,
                                         Backend& backend, const LoadProgress& progress, std::stop_token stop) {
  if (weights == kAsStored) return source;
  const kernels::Format& format = formatNamed(weights);
  if (holdsAlready(*source, format)) return renamed(*source, weights);
  if (backend.device() == kernels::Device::kCpu) return makeVariant(*source, format, backend, progress, stop);
  const auto host = makeCpuBackend(1);
  return makeVariant(*loadModel(source->source, *host, progress, stop), format, backend, progress, stop);
}

std::shared_ptr<const Model> loadModelAs(const std::string& source, const std::string& weights, Backend& backend,
                                         const LoadProgress& progress, std::stop_token stop) {
  return makeWeights(loadModel(source, backend, progress, stop), weights, backend, progress, stop);
}

std::int64_t variantBytes(const Model& source, const std::string& weights) {
  if (weights == kAsStored || holdsAlready(source, formatNamed(weights))) return 0;
  Model model = source;
  std::vector<PlacedWeight> places;
  plan(model, source, formatNamed(weights), places, nullptr);
  return model.weight_bytes;
}

std::int64_t weightBudget(const Backend& backend) {
  const std::size_t free_bytes = backend.freeBytes();
  if (free_bytes == 0) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(kBudgetShare * static_cast<double>(free_bytes));
}

std::shared_ptr<const Model> WeightVariants::find(const std::string& weights) {
  if (weights == kAsStored) return m_source;
  const auto kept = std::ranges::find(m_kept, weights, &Model::weights);
  if (kept != m_kept.end()) {
    m_kept.splice(m_kept.begin(), m_kept, kept);
    return m_kept.front();
  }
  return holdsAlready(*m_source, formatNamed(weights)) ? renamed(*m_source, weights) : nullptr;
}

void WeightVariants::makeRoom(const std::string& weights) {
  const std::int64_t needed = variantBytes(*m_source, weights);
  std::int64_t used = 0;
  for (const auto& kept : m_kept) used += kept.use_count() > 1 ? kept->weight_bytes : 0;
  if (used + needed > m_budget_bytes) {
    throw Error(fmt::format(
        "weights: {} takes {:.2f} MiB beside the {:.2f} MiB as stored, but there is room for {:.2f} MiB of other "
        "formats, {:.2f} MiB of it in use; choose fewer bits",
        weights, mib(needed), mib(m_source->weight_bytes), mib(m_budget_bytes), mib(used)));
  }
  for (auto kept = m_kept.end(); kept != m_kept.begin() && keptBytes() + needed > m_budget_bytes;) {
    --kept;
    if (kept->use_count() == 1) kept = m_kept.erase(kept);
  }
}

std::shared_ptr<const Model> WeightVariants::get(const std::string& weights, Backend& backend,
                                                 const LoadProgress& progress, std::stop_token stop) {
  if (auto kept = find(weights)) return kept;
  makeRoom(weights);
  keep(makeWeights(m_source, weights, backend, progress, std::move(stop)));
  return m_kept.front();
}

std::int64_t WeightVariants::keptBytes() const {
  std::int64_t bytes = 0;
  for (const auto& kept : m_kept) bytes += kept->weight_bytes;
  return bytes;
}

}  // namespace inferoscope::core
