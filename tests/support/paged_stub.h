// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/schedule/batch.h"

#include <string>
#include <vector>

namespace inferoscope::tests {

// A model without mathematics. Its cache keeps a token and its position in each slot where a real one keeps keys and
// values; what it says next is a function of all tokens it finds through the block table. A wrong table, a block that
// was given away, or content taken for other content therefore changes its output.
class PagedStub {
 public:
  PagedStub(int num_blocks, int block_size);

  // What it says after these tokens, in whatever batch.
  static core::TokenId next(const std::vector<core::TokenId>& tokens);
  static std::vector<core::TokenId> answer(std::vector<core::TokenId> prompt, int num_new);

  // The tokens it gives, one an entry, -1 where the entry does not sample.
  std::vector<core::TokenId> run(const core::Batch& batch);
  // The first rows alone: the step was stopped within.
  void runRows(const core::Batch& batch, int num_rows);

  // Empty if the arrays of the batch agree with each other and with its entries, else what is wrong.
  std::string faultOf(const core::Batch& batch) const;

 private:
  struct Slot {
    core::TokenId token = -1;
    int position = -1;
  };
  std::size_t slotOf(const core::Batch& batch, int seq_index, int position) const;

  std::vector<Slot> m_slots;  // [num_blocks, block_size]
  int m_block_size = 0;
};

}  // namespace inferoscope::tests
