// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/paged_stub.h"

#include <cstdint>
#include <set>

namespace inferoscope::tests {
namespace {

using core::Batch;
using core::BatchEntry;
using core::TokenId;

constexpr TokenId kVocabSize = 5;  // few, so that sequences often begin alike

std::string fault(const BatchEntry& entry, const std::string& what) {
  return "sequence " + std::to_string(entry.seq.value) + ": " + what;
}

}  // namespace

PagedStub::PagedStub(int num_blocks, int block_size)
    : m_slots(static_cast<std::size_t>(num_blocks) * static_cast<std::size_t>(block_size)), m_block_size(block_size) {}

TokenId PagedStub::next(const std::vector<TokenId>& tokens) {
  std::uint64_t state = 1;
  for (const TokenId token : tokens) state = (state ^ static_cast<std::uint64_t>(token + 2)) * 0x9e3779b97f4a7c15U;
  return static_cast<TokenId>((state >> 33) % kVocabSize);
}

std::vector<TokenId> PagedStub::answer(std::vector<TokenId> prompt, int num_new) {
  const auto num_prompt = static_cast<std::ptrdiff_t>(prompt.size());
  for (int i = 0; i < num_new; ++i) prompt.push_back(next(prompt));
  prompt.erase(prompt.begin(), prompt.begin() + num_prompt);
  return prompt;
}

std::size_t PagedStub::slotOf(const Batch& batch, int seq_index, int position) const {
  const auto entry = static_cast<std::size_t>(seq_index * batch.block_table_stride + position / m_block_size);
  return static_cast<std::size_t>(batch.block_tables[entry] * m_block_size + position % m_block_size);
}

void PagedStub::runRows(const Batch& batch, int num_rows) {
  for (std::size_t row = 0; row < static_cast<std::size_t>(num_rows); ++row) {
    const int position = batch.positions[row];
    m_slots[slotOf(batch, batch.token_seqs[row], position)] = {batch.token_ids[row], position};
  }
}

std::vector<TokenId> PagedStub::run(const Batch& batch) {
  runRows(batch, batch.numTokens());
  std::vector<TokenId> given;
  for (int i = 0; i < batch.numSeqs(); ++i) {
    const BatchEntry& entry = batch.entries[static_cast<std::size_t>(i)];
    std::vector<TokenId> tokens;
    for (int position = 0; position < batch.kv_lens[static_cast<std::size_t>(i)]; ++position) {
      const Slot& slot = m_slots[slotOf(batch, i, position)];
      tokens.push_back(slot.position == position ? slot.token : -1);
    }
    given.push_back(entry.samples ? next(tokens) : -1);
  }
  return given;
}

std::string PagedStub::faultOf(const Batch& batch) const {
  std::set<std::size_t> written;
  int num_rows = 0;
  std::size_t num_logit_rows = 0;
  for (int i = 0; i < batch.numSeqs(); ++i) {
    const BatchEntry& entry = batch.entries[static_cast<std::size_t>(i)];
    if (entry.num_tokens < 1) return fault(entry, "no token to compute");
    if (entry.first_row != num_rows) return fault(entry, "first_row");
    if (batch.q_starts[static_cast<std::size_t>(i)] != num_rows) return fault(entry, "q_starts");
    const int kv_len = batch.kv_lens[static_cast<std::size_t>(i)];
    if (kv_len != entry.start_position + entry.num_tokens) return fault(entry, "kv_lens");
    if (entry.phase == core::Phase::kDecode && entry.num_tokens != 1) return fault(entry, "decodes many tokens");
    for (int j = 0; j < batch.block_table_stride; ++j) {
      const bool has_tokens = j * m_block_size < kv_len;
      const int block = batch.block_tables[static_cast<std::size_t>(i * batch.block_table_stride + j)];
      if (has_tokens != (block >= 0)) return fault(entry, "block table does not end with the tokens");
    }
    for (int j = 0; j < entry.num_tokens; ++j, ++num_rows) {
      const auto row = static_cast<std::size_t>(num_rows);
      if (batch.token_seqs[row] != i || batch.positions[row] != entry.start_position + j) return fault(entry, "rows");
      if (!written.insert(slotOf(batch, i, batch.positions[row])).second) return fault(entry, "slot written twice");
    }
    if (!entry.samples) continue;
    if (batch.logit_rows.at(num_logit_rows) != num_rows - 1) return fault(entry, "logit row");
    if (entry.logit_row != static_cast<int>(num_logit_rows++)) return fault(entry, "index of the logit row");
  }
  const bool adds_up =
      num_rows == batch.numTokens() && num_logit_rows == batch.logit_rows.size() && batch.q_starts.back() == num_rows;
  return adds_up ? "" : "rows are left over";
}

}  // namespace inferoscope::tests
