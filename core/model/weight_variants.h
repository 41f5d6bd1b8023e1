// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model_store.h"
#include "kernels/format.h"

#include <cstdint>
#include <list>
#include <memory>
#include <stop_token>
#include <string>

namespace inferoscope::core {

// The same model with its matrices in another format, or in the one that stands in where rows do not divide. Nothing is
// gained over what is stored: 4-bit weights as f16 are those weights upcast, and a notice says so. The source's weights
// must lie in host memory; another thread may run it meanwhile on a backend of its own. Throws Error or Cancelled.
std::shared_ptr<const Model> makeVariant(const Model& source, const kernels::Format& format, Backend& backend,
                                         const LoadProgress& progress, std::stop_token stop);

// One model and its variants, each made once. Those that nobody uses are dropped, the one used longest ago first, where
// together they would take more than the budget.
class WeightVariants {
 public:
  static constexpr std::string_view kAsStored = "as-stored";

  WeightVariants(std::shared_ptr<const Model> source, std::int64_t budget_bytes)
      : m_source(std::move(source)), m_budget_bytes(budget_bytes) {}

  // weights: kAsStored or the name of a format.
  std::shared_ptr<const Model> get(const std::string& weights, Backend& backend, const LoadProgress& progress,
                                   std::stop_token stop);

  std::int64_t keptBytes() const;

 private:
  struct Kept {
    std::string weights;
    std::shared_ptr<const Model> model;
  };

  void dropUnused();

  std::shared_ptr<const Model> m_source;
  std::int64_t m_budget_bytes;
  std::list<Kept> m_kept;  // the one used last first
};

}  // namespace inferoscope::core
