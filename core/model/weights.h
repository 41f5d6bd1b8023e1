// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model.h"

#include <memory>
#include <string>
#include <vector>

namespace inferoscope::core {

// One tensor that the forward pass needs: its name in files, its shape, and where its address goes in a Model.
struct WeightSlot {
  std::string name;  // "blk.0.attn_q.weight"
  int num_rows = 1;
  int num_cols = 0;
  kernels::WeightMatrix* matrix = nullptr;  // one of these two is set
  const float** vector = nullptr;           // num_cols floats: a norm or a bias
};

// All weights of a model of this shape, in the order of use; model.layers is made to fit. A tied output has no slot of
// its own: bindWeights() points it at the embedding.
std::vector<WeightSlot> weightSlots(Model& model);

// Where each slot's weights lie in one buffer.
struct PlacedWeight {
  WeightSlot slot;
  const kernels::Format* format = nullptr;  // as kept in memory
  kernels::Layout layout = kernels::Layout::kRows;
  std::size_t offset = 0;  // 64-byte aligned
  std::size_t bytes = 0;   // stored, without what the layout pads

  kernels::WeightMatrix matrix(const std::byte* data = nullptr) const;
};

// Gives each weight its place, in order, and the layout that the device wants; null: as stored. Returns the bytes that
// the buffer needs.
std::size_t placeWeights(std::vector<PlacedWeight>& weights, const Backend* backend);

// Points the model at its weights in `memory`; null: at nothing, for a model that is only described.
void bindWeights(Model& model, const std::vector<PlacedWeight>& weights, std::shared_ptr<Buffer> memory);

// The model without its weights, for those who only describe or tokenize, so that they keep none in memory.
std::shared_ptr<const Model> withoutWeights(const Model& model);

}  // namespace inferoscope::core
