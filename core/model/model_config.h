// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/ops.h"

#include <cstdint>
#include <string>
#include <vector>

namespace inferoscope::core {

struct ModelConfig {
  std::string architecture;  // "llama"
  std::string name;          // for people
  std::string unsupported;   // why this model can only be described, not run; empty: it can run
  int num_layers = 0;
  int model_dim = 0;
  int hidden_dim = 0;
  int num_heads = 0;
  int num_kv_heads = 0;
  int head_dim = 0;
  int vocab_size = 0;  // rows of the embedding
  int num_tokens = 0;  // ids the tokenizer knows, at most vocab_size; the rest are never sampled
  int context_length = 0;
  int rope_dim = 0;
  double rope_freq_base = 10000.0;
  double rope_scale = 1.0;          // linear scaling: positions are divided by it
  std::vector<float> rope_factors;  // [rope_dim / 2]: each frequency is divided by its own; empty: by none
  kernels::RopeStyle rope_style = kernels::RopeStyle::kInterleaved;
  bool qkv_bias = false;  // queries, keys and values have biases
  bool qk_norm = false;   // the heads of queries and keys are normed before RoPE
  float norm_epsilon = 1e-5F;
  bool tied_embeddings = false;
  bool random_weights = false;  // a synthetic model: its text means nothing
};

}  // namespace inferoscope::core
