// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/queue.h"
#include "kernels/cuda/rows.h"

#include <vector>

// Attention of many queries of a sequence at once, on tensor cores, after Dao's FlashAttention-2 (2023): a block of
// threads takes a tile of queries of one head and walks over the keys and values that they see, with the softmax on
// the way; scores stay in registers.
namespace inferoscope::kernels::cuda {

inline constexpr int kPrefillQueries = 64;

struct PrefillTile {
  int seq;
  int token;          // row of q and out of the first query
  int num_queries;    // at most kPrefillQueries
  int first_visible;  // tokens that the first query sees; each next one sees one more
};

bool canPrefill(int head_dim);
void runPrefill(const AttentionArgs& args, const std::vector<PrefillTile>& tiles, DeviceQueue& queue);

}  // namespace inferoscope::kernels::cuda
