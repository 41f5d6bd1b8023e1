// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/weights.h"

#include "kernels/interleave.h"

#include <fmt/format.h>
#include <cmath>

namespace inferoscope::core {
namespace {

std::vector<double> inverseFrequencies(const ModelConfig& config) {
  std::vector<double> inv_freq;
  for (int i = 0; i < config.rope_dim / 2; ++i) {
    const double factor = config.rope_factors.empty() ? 1.0 : double{config.rope_factors[static_cast<std::size_t>(i)]};
    inv_freq.push_back(std::pow(config.rope_freq_base, -2.0 * i / config.rope_dim) / (factor * config.rope_scale));
  }
  return inv_freq;
}

}  // namespace

std::vector<WeightSlot> weightSlots(Model& model) {
  const ModelConfig& c = model.config;
  const int q_dim = c.num_heads * c.head_dim;
  const int kv_dim = c.num_kv_heads * c.head_dim;
  model.layers.resize(static_cast<std::size_t>(c.num_layers));

  std::vector<WeightSlot> slots;
  slots.push_back({"token_embd.weight", c.vocab_size, c.model_dim, &model.token_embedding});
  for (int i = 0; i < c.num_layers; ++i) {
    LayerWeights& layer = model.layers[static_cast<std::size_t>(i)];
    const auto name = [i](std::string_view part) { return fmt::format("blk.{}.{}.weight", i, part); };
    const auto vector = [&](std::string_view part, std::string_view kind, int size, const float*& to) {
      slots.push_back({fmt::format("blk.{}.{}.{}", i, part, kind), 1, size, nullptr, &to});
    };
    vector("attn_norm", "weight", c.model_dim, layer.attn_norm);
    slots.push_back({name("attn_q"), q_dim, c.model_dim, &layer.attn_q});
    slots.push_back({name("attn_k"), kv_dim, c.model_dim, &layer.attn_k});
    slots.push_back({name("attn_v"), kv_dim, c.model_dim, &layer.attn_v});
    if (c.qkv_bias) {
      vector("attn_q", "bias", q_dim, layer.attn_q_bias);
      vector("attn_k", "bias", kv_dim, layer.attn_k_bias);
      vector("attn_v", "bias", kv_dim, layer.attn_v_bias);
    }
    if (c.qk_norm) {
      vector("attn_q_norm", "weight", c.head_dim, layer.attn_q_norm);
      vector("attn_k_norm", "weight", c.head_dim, layer.attn_k_norm);
    }
    slots.push_back({name("attn_output"), c.model_dim, q_dim, &layer.attn_output});
    vector("ffn_norm", "weight", c.model_dim, layer.ffn_norm);
    slots.push_back({name("ffn_gate"), c.hidden_dim, c.model_dim, &layer.ffn_gate});
    slots.push_back({name("ffn_up"), c.hidden_dim, c.model_dim, &layer.ffn_up});
    slots.push_back({name("ffn_down"), c.model_dim, c.hidden_dim, &layer.ffn_down});
  }
  slots.push_back({"output_norm.weight", 1, c.model_dim, nullptr, &model.output_norm});
  if (!c.tied_embeddings) slots.push_back({"output.weight", c.vocab_size, c.model_dim, &model.output});
  return slots;
}

kernels::WeightMatrix PlacedWeight::matrix(const std::byte* data) const {
  return {data, format->id, slot.num_rows, slot.num_cols, layout};
}

std::size_t placeWeights(std::vector<PlacedWeight>& weights, const Backend* backend) {
  constexpr std::size_t kAlignment = 64;  // a cache line, and the widest SIMD load
  std::size_t end = 0;
  for (PlacedWeight& weight : weights) {
    weight.offset = (end + kAlignment - 1) / kAlignment * kAlignment;
    if (backend && weight.slot.matrix) weight.layout = backend->layoutFor(weight.matrix());
    weight.bytes = static_cast<std::size_t>(kernels::matrixBytes(weight.matrix()));
    end = weight.offset + static_cast<std::size_t>(kernels::layoutBytes(weight.matrix()));
  }
  return end;
}

void bindWeights(Model& model, const std::vector<PlacedWeight>& weights, std::shared_ptr<Buffer> memory) {
  std::byte* const base = memory ? memory->data() : nullptr;
  for (const PlacedWeight& weight : weights) {
    const std::byte* const data = base ? base + weight.offset : nullptr;
    if (weight.slot.vector) {
      *weight.slot.vector = reinterpret_cast<const float*>(data);
    } else {
      *weight.slot.matrix = weight.matrix(data);
    }
  }
  if (model.config.tied_embeddings) model.output = model.token_embedding;
  model.inv_freq = inverseFrequencies(model.config);
  if (memory) model.memory.push_back(std::move(memory));
}

std::shared_ptr<const Model> withoutWeights(const Model& model) {
  const auto described = std::make_shared<Model>(model);
  described->token_embedding = described->output = {};
  described->output_norm = nullptr;
  described->layers.clear();
  described->memory.clear();
  return described;
}

}  // namespace inferoscope::core
