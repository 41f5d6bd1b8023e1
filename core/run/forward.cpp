// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/forward.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace inferoscope::core {
namespace {

using namespace kernels;

constexpr int kOpsPerLayer = 16;
constexpr int kBiasOps = 3;
constexpr int kQkNormOps = 2;
constexpr int kOpsOutsideLayers = 3;
constexpr std::size_t kAlignFloats = 16;  // 64 bytes

std::size_t padded(std::size_t num_floats) {
  return (num_floats + kAlignFloats - 1) / kAlignFloats * kAlignFloats;
}

constexpr std::size_t kNumParts = 9;
using PartFloats = std::array<std::size_t, kNumParts>;

// Sizes of a workspace's parts, in the order of its members.
PartFloats partFloats(const ModelConfig& config, int num_tokens, int num_logit_rows) {
  const auto tokens = static_cast<std::size_t>(num_tokens);
  const std::size_t dim = padded(tokens * static_cast<std::size_t>(config.model_dim));
  const std::size_t q_dim = padded(tokens * static_cast<std::size_t>(config.num_heads * config.head_dim));
  const std::size_t kv_dim = padded(tokens * static_cast<std::size_t>(config.num_kv_heads * config.head_dim));
  const std::size_t hidden_dim = padded(tokens * static_cast<std::size_t>(config.hidden_dim));
  const std::size_t logits =
      padded(static_cast<std::size_t>(num_logit_rows) * static_cast<std::size_t>(config.vocab_size));
  return {dim, dim, q_dim, kv_dim, kv_dim, q_dim, hidden_dim, hidden_dim, logits};
}

// The forward pass of one batch: what its layers have in common.
struct Pass {
  const ModelConfig& config;
  const Model& model;
  const Batch& batch;
  const KvCache& kv;
  OpRunner& ops;
  Workspace& ws;
  int num_tokens;

  void norm(std::string_view name, int layer, const float* weight) const {
    ops.run(name, layer,
            RmsNormArgs{.x = ws.hidden,
                        .weight = weight,
                        .rows = nullptr,
                        .out = ws.normed,
                        .num_tokens = num_tokens,
                        .dim = config.model_dim,
                        .epsilon = config.norm_epsilon});
  }

  void linear(std::string_view name, int layer, const WeightMatrix& w, const float* x, float* out) const {
    ops.run(name, layer, LinearArgs{.x = x, .w = w, .out = out, .num_tokens = num_tokens});
  }

  void bias(std::string_view name, int layer, float* x, const float* bias, int dim) const {
    ops.run(name, layer, AddArgs{.x = x, .y = bias, .num_tokens = num_tokens, .dim = dim, .is_bias = true});
  }

  void headNorm(std::string_view name, int layer, float* x, const float* weight, int num_heads) const {
    ops.run(name, layer,
            RmsNormArgs{.x = x,
                        .weight = weight,
                        .rows = nullptr,
                        .out = x,
                        .num_tokens = num_tokens,
                        .num_heads = num_heads,
                        .dim = config.head_dim,
                        .epsilon = config.norm_epsilon});
  }

  void rope(std::string_view name, int layer, float* x, int num_heads) const {
    ops.run(name, layer,
            RopeArgs{.x = x,
                     .positions = batch.positions.data(),
                     .inv_freq = model.inv_freq.data(),
                     .num_tokens = num_tokens,
                     .num_heads = num_heads,
                     .head_dim = config.head_dim,
                     .rope_dim = config.rope_dim,
                     .style = config.rope_style});
  }

  void addToHidden(std::string_view name, int layer, const float* y) const {
    ops.run(name, layer, AddArgs{.x = ws.hidden, .y = y, .num_tokens = num_tokens, .dim = config.model_dim});
  }

  // Adds y to the residual and norms it: in one op where the device has such a kernel.
  void addAndNorm(std::string_view add_name, int layer, std::string_view norm_name, int norm_layer, const float* y,
                  const float* weight) const {
    const RmsNormArgs both{.x = ws.hidden,
                           .weight = weight,
                           .rows = nullptr,
                           .out = ws.normed,
                           .num_tokens = num_tokens,
                           .dim = config.model_dim,
                           .epsilon = config.norm_epsilon,
                           .add = y,
                           .sum = ws.hidden};
    if (ops.canRun(both)) return ops.run(norm_name, norm_layer, both);
    addToHidden(add_name, layer, y);
    norm(norm_name, norm_layer, weight);
  }

  PagedKvView cacheOf(int layer) const {
    PagedKvView view = kv.layer(layer);
    view.block_tables = batch.block_tables.data();
    view.block_table_stride = batch.block_table_stride;
    view.kv_lens = batch.kv_lens.data();
    view.num_seqs = batch.numSeqs();
    return view;
  }

  // Of ws.normed, to there.
  void attention(int layer, const LayerWeights& w) const {
    linear("attn_q", layer, w.attn_q, ws.normed, ws.q);
    linear("attn_k", layer, w.attn_k, ws.normed, ws.k);
    linear("attn_v", layer, w.attn_v, ws.normed, ws.v);
    if (config.qkv_bias) {
      bias("attn_q_bias", layer, ws.q, w.attn_q_bias, w.attn_q.num_rows);
      bias("attn_k_bias", layer, ws.k, w.attn_k_bias, w.attn_k.num_rows);
      bias("attn_v_bias", layer, ws.v, w.attn_v_bias, w.attn_v.num_rows);
    }
    if (config.qk_norm) {
      headNorm("attn_q_norm", layer, ws.q, w.attn_q_norm, config.num_heads);
      headNorm("attn_k_norm", layer, ws.k, w.attn_k_norm, config.num_kv_heads);
    }
    rope("rope_q", layer, ws.q, config.num_heads);
    rope("rope_k", layer, ws.k, config.num_kv_heads);
    const PagedKvView cache = cacheOf(layer);
    ops.run("kv_append", layer,
            KvAppendArgs{.keys = ws.k,
                         .values = ws.v,
                         .positions = batch.positions.data(),
                         .token_seqs = batch.token_seqs.data(),
                         .kv = cache,
                         .num_tokens = num_tokens});
    ops.run("attention", layer,
            AttentionArgs{.q = ws.q,
                          .kv = cache,
                          .q_starts = batch.q_starts.data(),
                          .out = ws.attended,
                          .num_tokens = num_tokens,
                          .num_heads = config.num_heads,
                          .scale = 1.0F / std::sqrt(static_cast<float>(config.head_dim))});
    linear("attn_output", layer, w.attn_output, ws.attended, ws.normed);
  }

  // Of ws.normed, to there.
  void feedForward(int layer, const LayerWeights& w) const {
    linear("ffn_gate", layer, w.ffn_gate, ws.normed, ws.gate);
    linear("ffn_up", layer, w.ffn_up, ws.normed, ws.up);
    ops.run(
        "swiglu", layer,
        SwiGluArgs{
            .gate = ws.gate, .up = ws.up, .out = ws.gate, .num_tokens = num_tokens, .hidden_dim = config.hidden_dim});
    linear("ffn_down", layer, w.ffn_down, ws.gate, ws.normed);
  }

  // Only the rows whose next token is wanted: the output matrix is the largest of a small model.
  void output() const {
    const int num_rows = static_cast<int>(batch.logit_rows.size());
    ops.run("output_norm", -1,
            RmsNormArgs{.x = ws.hidden,
                        .weight = model.output_norm,
                        .rows = batch.logit_rows.data(),
                        .out = ws.normed,
                        .num_tokens = num_rows,
                        .dim = config.model_dim,
                        .epsilon = config.norm_epsilon});
    ops.run("output", -1, LinearArgs{.x = ws.normed, .w = model.output, .out = ws.logits, .num_tokens = num_rows});
  }
};

}  // namespace

Workspace::Workspace(const ModelConfig& config, Backend& backend) : m_config(config), m_backend(backend) {}

void Workspace::reserve(int num_tokens, int num_logit_rows) {
  if (num_tokens <= m_num_tokens && num_logit_rows <= m_num_logit_rows) return;
  const int tokens = std::max(num_tokens, m_num_tokens);
  const int rows = std::max(num_logit_rows, m_num_logit_rows);
  m_memory.reset();  // nothing in it outlives a step
  m_num_tokens = m_num_logit_rows = 0;
  const auto bytes = static_cast<std::size_t>(bytesFor(m_config, tokens, rows));
  m_memory = m_backend.allocate(bytes, "the activations of a step");
  const std::array<float**, kNumParts> pointers = {&hidden, &normed, &q, &k, &v, &attended, &gate, &up, &logits};
  const PartFloats parts = partFloats(m_config, tokens, rows);
  auto* next = reinterpret_cast<float*>(m_memory->data());
  for (std::size_t i = 0; i < kNumParts; ++i) {
    *pointers[i] = next;
    next += parts[i];
  }
  m_num_tokens = tokens;
  m_num_logit_rows = rows;
}

std::int64_t Workspace::bytesFor(const ModelConfig& config, int num_tokens, int num_logit_rows) {
  const PartFloats parts = partFloats(config, num_tokens, num_logit_rows);
  return static_cast<std::int64_t>(std::accumulate(parts.begin(), parts.end(), std::size_t{0}) * sizeof(float));
}

std::span<const float> Workspace::logitsOnHost(int num_rows) {
  const std::size_t count = static_cast<std::size_t>(num_rows) * static_cast<std::size_t>(m_config.vocab_size);
  if (m_backend.device() == kernels::Device::kCpu || count == 0) return {logits, count};
  m_host_logits.resize(count);
  const auto offset = static_cast<std::size_t>(reinterpret_cast<std::byte*>(logits) - m_memory->data());
  m_backend.download(*m_memory, offset, std::as_writable_bytes(std::span(m_host_logits)));
  return m_host_logits;
}

int numOps(const ModelConfig& config) {
  const int ops_per_layer = kOpsPerLayer + (config.qkv_bias ? kBiasOps : 0) + (config.qk_norm ? kQkNormOps : 0);
  return kOpsOutsideLayers + ops_per_layer * config.num_layers;
}

std::span<const float> forward(const Model& model, const Batch& batch, const KvCache& kv, OpRunner& ops,
                               Workspace& workspace) {
  forwardOnDevice(model, batch, kv, ops, workspace);
  return workspace.logitsOnHost(static_cast<int>(batch.logit_rows.size()));
}

void forwardOnDevice(const Model& model, const Batch& batch, const KvCache& kv, OpRunner& ops, Workspace& workspace) {
  const int num_logit_rows = static_cast<int>(batch.logit_rows.size());
  workspace.reserve(batch.numTokens(), num_logit_rows);
  const Pass pass{model.config, model, batch, kv, ops, workspace, batch.numTokens()};

  ops.run("token_embedding", -1,
          EmbedArgs{.table = model.token_embedding,
                    .token_ids = batch.token_ids.data(),
                    .out = workspace.hidden,
                    .num_tokens = pass.num_tokens});
  pass.norm("attn_norm", 0, model.layers.front().attn_norm);
  for (int layer = 0; layer < model.config.num_layers; ++layer) {
    const LayerWeights& weights = model.layers[static_cast<std::size_t>(layer)];
    pass.attention(layer, weights);
    pass.addAndNorm("attn_add", layer, "ffn_norm", layer, workspace.normed, weights.ffn_norm);
    pass.feedForward(layer, weights);
    if (layer + 1 == model.config.num_layers) {
      pass.addToHidden("ffn_add", layer, workspace.normed);
    } else {
      const LayerWeights& next = model.layers[static_cast<std::size_t>(layer) + 1];
      pass.addAndNorm("ffn_add", layer, "attn_norm", layer + 1, workspace.normed, next.attn_norm);
    }
  }
  if (num_logit_rows > 0) pass.output();
}

}  // namespace inferoscope::core
