// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/backend/backend.h"
#include "core/cache/kv_cache.h"
#include "core/model/model.h"
#include "core/run/op_runner.h"
#include "core/schedule/batch.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace inferoscope::core {

// Memory for the activations of a step; grows to the largest step seen, then stays.
class Workspace {
 public:
  Workspace(const ModelConfig& config, Backend& backend);
  void reserve(int num_tokens, int num_logit_rows);
  static std::int64_t bytesFor(const ModelConfig& config, int num_tokens, int num_logit_rows);
  // The first rows of logits, copied from a device that has memory of its own; waits for it.
  std::span<const float> logitsOnHost(int num_rows);

  float* hidden = nullptr;    // [num_tokens, model_dim]: the residual stream
  float* normed = nullptr;    // [num_tokens, model_dim]
  float* q = nullptr;         // [num_tokens, num_heads, head_dim]
  float* k = nullptr;         // [num_tokens, num_kv_heads, head_dim]
  float* v = nullptr;         // [num_tokens, num_kv_heads, head_dim]
  float* attended = nullptr;  // [num_tokens, num_heads, head_dim]
  float* gate = nullptr;      // [num_tokens, hidden_dim]
  float* up = nullptr;        // [num_tokens, hidden_dim]
  float* logits = nullptr;    // [num_logit_rows, vocab_size]

 private:
  ModelConfig m_config;
  Backend& m_backend;
  std::shared_ptr<Buffer> m_memory;
  std::vector<float> m_host_logits;  // [num_logit_rows, vocab_size]
  int m_num_tokens = 0;
  int m_num_logit_rows = 0;
};

// Ops of one forward pass of the model: what StepProgress::ops_total counts.
int numOps(const ModelConfig& config);

// The transformer, once for all devices: computes the batch, appends its keys and values to the cache, and returns
// the logits of batch.logit_rows, [num_logit_rows, vocab_size], valid until the next call. Throws Cancelled.
std::span<const float> forward(const Model& model, const Batch& batch, const KvCache& kv, OpRunner& ops,
                               Workspace& workspace);
// The same, but the logits stay on the device: workspace.logits.
void forwardOnDevice(const Model& model, const Batch& batch, const KvCache& kv, OpRunner& ops, Workspace& workspace);

}  // namespace inferoscope::core
