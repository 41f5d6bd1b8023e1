// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/snapshot.h"

#include <algorithm>

namespace inferoscope::core {

int Snapshot::numUsedBlocks() const {
  return static_cast<int>(std::ranges::count_if(blocks, [](const BlockInfo& block) { return block.ref_count > 0; }));
}

double Snapshot::blockUse() const {
  return blocks.empty() ? 0.0 : static_cast<double>(numUsedBlocks()) / static_cast<double>(blocks.size());
}

double Snapshot::slotUse() const {
  std::int64_t held = 0;
  for (const BlockInfo& block : blocks) {
    if (block.ref_count > 0) held += block.num_tokens;
  }
  const auto slots = static_cast<std::int64_t>(blocks.size()) * block_size;
  return slots == 0 ? 0.0 : static_cast<double>(held) / static_cast<double>(slots);
}

}  // namespace inferoscope::core
