// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/scorer.h"

#include "core/run/kernel_set.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace inferoscope::core {
namespace {

int numBlocks(int num_tokens, int block_size) {
  return (num_tokens + block_size - 1) / block_size;
}

// One sequence in blocks 0, 1, 2, ...
Batch makeBatch(std::span<const TokenId> tokens, int first, int count, int block_size, int first_logit_row) {
  Batch batch;
  batch.token_ids.assign(tokens.begin() + first, tokens.begin() + first + count);
  batch.positions.resize(static_cast<std::size_t>(count));
  std::iota(batch.positions.begin(), batch.positions.end(), first);
  batch.token_seqs.assign(static_cast<std::size_t>(count), 0);
  batch.q_starts = {0, count};
  batch.kv_lens = {first + count};
  batch.block_table_stride = numBlocks(first + count, block_size);
  batch.block_tables.resize(static_cast<std::size_t>(batch.block_table_stride));
  std::iota(batch.block_tables.begin(), batch.block_tables.end(), 0);
  for (int row = first_logit_row; row < count; ++row) batch.logit_rows.push_back(row);
  batch.entries.push_back({.seq = SeqId{0}, .phase = Phase::kPrefill, .num_tokens = count, .start_position = first});
  return batch;
}

}  // namespace

Scorer::Scorer(std::shared_ptr<const Model> model, std::shared_ptr<Backend> backend, const EngineOptions& options,
               int max_tokens)
    : m_model(std::move(model)),
      m_backend(std::move(backend)),
      m_num_threads(options.threads),
      m_kv(m_model->config, *m_backend, options.kv_format, numBlocks(max_tokens, options.block_size),
           options.block_size),
      m_ops(*m_backend, chooseKernels(m_backend->catalog(), options)),
      m_workspace(m_model->config, *m_backend) {}

void Scorer::start(std::vector<TokenId> tokens, int first_row) {
  m_tokens = std::move(tokens);
  m_first_row = first_row;
  m_done = 0;
}

Scorer::Rows Scorer::next(const std::stop_token& stop) {
  const int num_rows = static_cast<int>(m_tokens.size()) - 1;
  while (m_done < std::min(m_first_row, num_rows)) {
    pass(m_done, std::min(kChunk, m_first_row - m_done), false, stop);
  }
  const int count = std::min(kChunk, num_rows - m_done);
  if (count <= 0) return {};
  const int first = m_done;
  return {.first = first, .count = count, .logits = pass(first, count, true, stop)};
}

std::span<const float> Scorer::pass(int first, int count, bool scored, const std::stop_token& stop) {
  m_backend->setThreads(m_num_threads);
  m_ops.begin(stop, nullptr);
  const Batch batch = makeBatch(m_tokens, first, count, m_kv.blockSize(), scored ? 0 : count);
  const std::span<const float> logits = forward(*m_model, batch, m_kv, m_ops, m_workspace);
  m_ops.finish();
  m_done += count;
  return logits;
}

}  // namespace inferoscope::core
