// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/backend/backend.h"
#include "core/cache/kv_cache.h"
#include "core/model/model.h"
#include "core/options.h"
#include "core/run/forward.h"

#include <memory>
#include <span>
#include <stop_token>
#include <vector>

namespace inferoscope::core {

// Logits at every position of a given text, in chunks: what perplexity and the divergence of two settings are made of.
// Two scorers of different settings, called in turn, compare row by row without keeping any.
class Scorer {
 public:
  static constexpr int kChunk = 64;  // tokens of a pass, and most rows at once

  // For texts of up to max_tokens. Throws Error.
  Scorer(std::shared_ptr<const Model> model, std::shared_ptr<Backend> backend, const EngineOptions& options,
         int max_tokens);

  // Begins a text. Rows before first_row are computed, but not scored: nobody asks what they predict.
  void start(std::vector<TokenId> tokens, int first_row = 0);

  // Row i predicts token i + 1. The last row predicts nothing that is known, and is left out.
  struct Rows {
    int first = 0;
    int count = 0;                  // 0: the text is done
    std::span<const float> logits;  // [count, vocab_size], valid until the next call
  };
  Rows next(const std::stop_token& stop);  // throws Cancelled

 private:
  std::span<const float> pass(int first, int count, bool scored, const std::stop_token& stop);

  std::shared_ptr<const Model> m_model;
  std::shared_ptr<Backend> m_backend;
  int m_num_threads = 0;
  KvCache m_kv;
  OpRunner m_ops;
  Workspace m_workspace;
  std::vector<TokenId> m_tokens;
  int m_first_row = 0;
  int m_done = 0;  // tokens computed
};

}  // namespace inferoscope::core
