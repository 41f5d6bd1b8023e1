// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/attention_decode.h"
#include "kernels/cuda/attention_prefill.h"
#include "kernels/cuda/paged.h"
#include "kernels/op_costs.h"

#include <algorithm>

namespace inferoscope::kernels::cuda {
namespace {

// A step's queries, by what suits them: many of one sequence go to the tensor cores, single ones, and those of head
// sizes without such a kernel, each to several blocks.
struct Plan {
  explicit Plan(const AttentionArgs& args) {
    for (int seq = 0; seq < args.kv.num_seqs; ++seq) {
      const int token0 = args.q_starts[seq];
      const int q_len = args.q_starts[seq + 1] - token0;
      const int visible0 = args.kv.kv_lens[seq] - q_len + 1;
      if (q_len > 1 && canPrefill(args.kv.head_dim)) {
        for (int i = 0; i < q_len; i += kPrefillQueries) {
          tiles.push_back({seq, token0 + i, std::min(kPrefillQueries, q_len - i), visible0 + i});
        }
      } else {
        for (int i = 0; i < q_len; ++i) planQuery(decode, token0 + i, seq, visible0 + i);
      }
    }
    padParts(decode);
  }
  std::vector<PrefillTile> tiles;
  DecodePlan decode;
};

std::string supports(const AttentionArgs& args) {
  if (std::string reason = whyNoKv(args.kv); !reason.empty()) return reason;
  if (args.kv.head_dim <= kMostDecodeDim) return {};
  return "heads of " + std::to_string(args.kv.head_dim) + " elements are longer than 256";
}

std::size_t scratchBytes(const AttentionArgs& args, int) {
  if (args.q_starts == nullptr) return 0;
  Scratch scratch(nullptr);
  float* sums;
  float2* states;
  takeDecodeScratch(scratch, args, Plan(args).decode, sums, states);
  return scratch.usedBytes();
}

void run(const AttentionArgs& args, const Exec& exec) {
  DeviceQueue& queue = DeviceQueue::of(exec);
  const Plan plan(args);
  Scratch scratch(exec.scratch.data());
  float* sums;
  float2* states;
  takeDecodeScratch(scratch, args, plan.decode, sums, states);
  runPrefill(args, plan.tiles, queue);
  runDecode(args, plan.decode, sums, states, queue);
}

}  // namespace

Kernel<AttentionArgs> attentionFlash() {
  return {"attention.flash_cuda",
          "flash",
          "Flash attention, split for single queries",
          kThisDevice,
          supports,
          attentionCost,
          scratchBytes,
          run};
}

}  // namespace inferoscope::kernels::cuda
