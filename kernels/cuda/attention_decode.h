// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/queue.h"
#include "kernels/cuda/rows.h"

#include <vector>

// Attention of single queries over long caches: the cache is cut at fixed positions, a block of threads sums a part of
// it for all query heads of a key-value head at once, and a second kernel merges the parts.
namespace inferoscope::kernels::cuda {

inline constexpr int kSplitTokens = 256;
inline constexpr int kMostDecodeDim = 256;

// A query and a part of what it sees.
struct DecodePart {
  int token;  // row of q and out
  int seq;
  int begin;
  int end;  // not more than begin + kSplitTokens
};

// A query and its parts: parts[first .. first + count - 1].
struct DecodeQuery {
  int token;
  int first;
  int count;
};

struct DecodePlan {
  std::vector<DecodePart> parts;
  std::vector<DecodeQuery> queries;
};

void planQuery(DecodePlan& plan, int token, int seq, int num_visible);
// Adds empty parts up to a power of two: as long as no more are needed, a graph of the launch stays as it is.
void padParts(DecodePlan& plan);

// Scratch: sums [num_parts, num_heads, head_dim] and states [num_parts, num_heads].
void takeDecodeScratch(Scratch& scratch, const AttentionArgs& args, const DecodePlan& plan, float*& sums,
                       float2*& states);
void runDecode(const AttentionArgs& args, const DecodePlan& plan, float* sums, float2* states, DeviceQueue& queue);

}  // namespace inferoscope::kernels::cuda
