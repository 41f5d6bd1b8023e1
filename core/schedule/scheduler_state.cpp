// SPDX-License-Identifier: GPL-3.0-or-later
// What can be seen of the scheduler's state, and what must be true of it between two steps.
#include "core/schedule/scheduler.h"

#include <fmt/format.h>
#include <algorithm>

namespace inferoscope::core {

std::vector<BlockInfo> Scheduler::blocks() const {
  std::vector<BlockInfo> infos(static_cast<std::size_t>(m_pool.numBlocks()));
  for (BlockId block{0}; block.value < m_pool.numBlocks(); ++block.value) {
    if (!m_pool.isCached(block)) continue;
    infos[static_cast<std::size_t>(block.value)] = {
        .owner = {}, .num_tokens = m_config.block_size, .ref_count = 0, .state = BlockState::kCached};
  }
  for (const Sequence* seq : m_running) {
    int num_left = seq->num_computed;
    for (const BlockId block : seq->block_table) {
      BlockInfo& info = infos[static_cast<std::size_t>(block.value)];
      const int num_tokens = std::min(num_left, m_config.block_size);
      num_left -= num_tokens;
      if (info.owner.valid()) continue;  // shared: then it is full, whoever holds it
      const int num_holders = m_pool.refCount(block);
      info = {.owner = seq->id,
              .num_tokens = num_tokens,
              .ref_count = static_cast<std::int16_t>(num_holders),
              .state = num_holders > 1 ? BlockState::kShared : BlockState::kUsed};
    }
  }
  return infos;
}

std::string Scheduler::check() const {
  if (std::string broken = m_pool.check(); !broken.empty()) return broken;
  if (std::string broken = checkLines(); !broken.empty()) return broken;
  if (std::string broken = checkHolders(); !broken.empty()) return broken;
  for (const Sequence* seq : m_running) {
    if (std::string broken = checkTable(*seq); !broken.empty()) {
      return fmt::format("sequence {}: {}", seq->id.value, broken);
    }
  }
  return {};
}

// Every sequence is in the one line that its state says, and only running ones have anything in the cache.
std::string Scheduler::checkLines() const {
  using enum SeqState;
  const auto runs = [](const Sequence* seq) { return seq->state == kRunning; };
  const auto waits = [](const Sequence* seq) { return seq->state == kWaiting || seq->state == kPreempted; };
  const auto has_ended = [](const Sequence* seq) { return seq->state == kFinished; };
  if (!std::ranges::all_of(m_running, runs)) return "a sequence among the running ones does not run";
  if (!std::ranges::all_of(m_waiting, waits)) return "a sequence among the waiting ones does not wait";
  if (!std::ranges::all_of(m_finished, has_ended)) return "a sequence among the finished ones has not ended";
  const std::size_t num_in_lines = m_running.size() + m_waiting.size() + m_finished.size();
  if (num_in_lines != m_sequences.size()) {
    return fmt::format("{} sequences known, {} in lines", m_sequences.size(), num_in_lines);
  }
  if (std::ssize(m_running) > m_config.max_sequences) {
    return fmt::format("{} sequences running, {} allowed", m_running.size(), m_config.max_sequences);
  }
  for (const auto& [id, seq] : m_sequences) {
    if (seq->state != SeqState::kRunning && !seq->block_table.empty()) {
      return fmt::format("sequence {} holds blocks and does not run", id.value);
    }
  }
  return {};
}

// The reference count of a block is the number of tables that hold it.
std::string Scheduler::checkHolders() const {
  std::vector<int> num_holders(static_cast<std::size_t>(m_pool.numBlocks()));
  for (const Sequence* seq : m_running) {
    for (const BlockId block : seq->block_table) ++num_holders[static_cast<std::size_t>(block.value)];
  }
  for (BlockId block{0}; block.value < m_pool.numBlocks(); ++block.value) {
    const int num_held = num_holders[static_cast<std::size_t>(block.value)];
    if (num_held != m_pool.refCount(block)) {
      return fmt::format("block {} is in {} tables and counts {} holders", block.value, num_held,
                         m_pool.refCount(block));
    }
  }
  return {};
}

// A running sequence has the blocks of its computed tokens and no others, a token left to compute, and keys of the full
// ones that say what their tokens are.
std::string Scheduler::checkTable(const Sequence& seq) const {
  if (std::ssize(seq.block_table) != numBlocksFor(seq.num_computed)) {
    return fmt::format("{} blocks for {} tokens", seq.block_table.size(), seq.num_computed);
  }
  if (seq.num_computed >= seq.numTokens()) return "no token is left to compute";
  const int num_keys = m_config.prefix_cache ? seq.num_computed / m_config.block_size : 0;
  if (std::ssize(seq.block_keys) != num_keys) {
    return fmt::format("{} keys for {} tokens", seq.block_keys.size(), seq.num_computed);
  }
  const auto block_size = static_cast<std::size_t>(m_config.block_size);
  BlockKey key;
  for (std::size_t i = 0; i < seq.block_table.size(); ++i) {
    const std::optional<BlockKey> in_pool = m_pool.key(seq.block_table[i]);
    if (i >= seq.block_keys.size()) {
      if (in_pool) return fmt::format("logical block {} has a key though it is not full", i);
      continue;
    }
    key = blockKey(key, std::span(seq.tokens).subspan(i * block_size, block_size));
    if (seq.block_keys[i] != key || in_pool != key) return fmt::format("logical block {} has a wrong key", i);
  }
  return {};
}

}  // namespace inferoscope::core
