// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model_store.h"
#include "kernels/format.h"

#include <cstdint>
#include <list>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

namespace inferoscope::core {

// A model's weights in other formats. `weights` is kAsStored or the name of a format, as in EngineOptions.
inline constexpr std::string_view kAsStored = "as-stored";

// The same model with its matrices in another format, or in the one that stands in where rows do not divide. Nothing is
// gained over what is stored: 4-bit weights as f16 are those weights upcast, and a notice says so. The source's weights
// must lie in host memory; another thread may run it meanwhile on a backend of its own. Throws Error or Cancelled.
std::shared_ptr<const Model> makeVariant(const Model& source, const kernels::Format& format, Backend& backend,
                                         const LoadProgress& progress, std::stop_token stop);

// The same for any device and `weights`: a model that is in that format already is not made twice, and one that lies on
// a device is read from its source once more.
std::shared_ptr<const Model> makeWeights(std::shared_ptr<const Model> source, const std::string& weights,
                                         Backend& backend, const LoadProgress& progress, std::stop_token stop);

// loadModel(), with other weights. Those stored are let go where they are not wanted.
std::shared_ptr<const Model> loadModelAs(const std::string& source, const std::string& weights, Backend& backend,
                                         const LoadProgress& progress, std::stop_token stop);

// What makeWeights() would make, without the weights (their pointers are null).
std::shared_ptr<const Model> describeAs(std::shared_ptr<const Model> source, const std::string& weights);

// Bytes that the variant takes beside the model; 0 where nothing has to be made.
std::int64_t variantBytes(const Model& source, const std::string& weights);

// How many bytes of other formats may be kept on a device beside its model, from what is free there now.
std::int64_t weightBudget(const Backend& backend);

// One model and its variants, each made once and kept within a budget: where one more would take more, those that
// nobody uses go, the one used longest ago first. One thread at a time.
class WeightVariants {
 public:
  WeightVariants(std::shared_ptr<const Model> source, std::int64_t budget_bytes)
      : m_source(std::move(source)), m_budget_bytes(budget_bytes) {}

  const std::shared_ptr<const Model>& source() const { return m_source; }

  // Null: it has to be made.
  std::shared_ptr<const Model> find(const std::string& weights);
  // Lets unused ones go until there is room for this one. Throws Error with the numbers if there is none.
  void makeRoom(const std::string& weights);
  void keep(std::shared_ptr<const Model> variant) { m_kept.push_front(std::move(variant)); }

  // All of it: found, or made now and kept.
  std::shared_ptr<const Model> get(const std::string& weights, Backend& backend, const LoadProgress& progress,
                                   std::stop_token stop);

  std::int64_t keptBytes() const;

 private:
  std::shared_ptr<const Model> m_source;
  std::int64_t m_budget_bytes;
  std::list<std::shared_ptr<const Model>> m_kept;  // the one used last first
};

}  // namespace inferoscope::core
