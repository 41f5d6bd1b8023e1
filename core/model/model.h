// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/backend/backend.h"
#include "core/model/chat_template.h"
#include "core/model/model_config.h"
#include "core/model/tokenizer.h"
#include "kernels/ops.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace inferoscope::core {

struct LayerWeights {
  const float* attn_norm = nullptr;    // [model_dim]
  kernels::WeightMatrix attn_q;        // [num_heads * head_dim, model_dim]
  kernels::WeightMatrix attn_k;        // [num_kv_heads * head_dim, model_dim]
  kernels::WeightMatrix attn_v;        // [num_kv_heads * head_dim, model_dim]
  const float* attn_q_bias = nullptr;  // [num_heads * head_dim]; null without qkv_bias, as the next two
  const float* attn_k_bias = nullptr;  // [num_kv_heads * head_dim]
  const float* attn_v_bias = nullptr;  // [num_kv_heads * head_dim]
  const float* attn_q_norm = nullptr;  // [head_dim]; null without qk_norm, as the next one
  const float* attn_k_norm = nullptr;  // [head_dim]
  kernels::WeightMatrix attn_output;   // [model_dim, num_heads * head_dim]
  const float* ffn_norm = nullptr;     // [model_dim]
  kernels::WeightMatrix ffn_gate;      // [hidden_dim, model_dim]
  kernels::WeightMatrix ffn_up;        // [hidden_dim, model_dim]
  kernels::WeightMatrix ffn_down;      // [model_dim, hidden_dim]
};

// A loaded model: immutable, shared, its weights in the memory of one device. The file it came from is closed.
struct Model {
  ModelConfig config;
  kernels::WeightMatrix token_embedding;  // [vocab_size, model_dim]
  kernels::WeightMatrix output;           // [vocab_size, model_dim]; the same data as token_embedding if tied
  const float* output_norm = nullptr;     // [model_dim]
  std::vector<LayerWeights> layers;       // [num_layers]
  std::vector<double> inv_freq;           // [rope_dim / 2], host memory

  std::shared_ptr<const Tokenizer> tokenizer;  // null only where config.unsupported
  ChatTemplate chat;
  std::vector<std::string> notices;  // what a person should know: "no chat template: ..."

  std::string source;                                // path or synthetic:NAME
  std::string weights = "as-stored";                 // or the format they were made into: EngineOptions::weights
  std::map<std::string, std::int64_t> format_bytes;  // stored bytes by format name
  std::int64_t weight_bytes = 0;                     // stored bytes of all tensors, a tied embedding once
  std::vector<std::shared_ptr<Buffer>> memory;       // keeps the weights alive
};

// Bytes that one token takes in the cache: keys and values of all layers, in a KV format (by name).
// Throws Error if a head does not divide into the format's blocks.
std::int64_t kvBytesPerToken(const ModelConfig& config, std::string_view kv_format);

}  // namespace inferoscope::core
