// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/rope_avx2.h"
#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/scratch.h"
#include "kernels/op_costs.h"

namespace inferoscope::kernels::cpu {
namespace {

constexpr int kPanelTokens = 8;

// Of the token at hand.
struct Arrays {
  Arrays(const RopeArgs& args, int num_threads, std::byte* begin) : scratch(begin) {
    cosines = scratch.take<float>(std::int64_t{num_threads} * (args.rope_dim / 2));
    sines = scratch.take<float>(std::int64_t{num_threads} * (args.rope_dim / 2));
  }

  Scratch scratch;
  float* cosines;  // [num_threads, rope_dim / 2]
  float* sines;    // [num_threads, rope_dim / 2]
};

std::size_t scratchBytes(const RopeArgs& args, int num_threads) {
  return Arrays(args, num_threads, nullptr).scratch.usedBytes();
}

void run(const RopeArgs& args, const Exec& exec) {
  const Arrays arrays(args, exec.pool->numThreads(), exec.scratch.data());
  const int num_pairs = args.rope_dim / 2;
  const auto rotate = args.style == RopeStyle::kInterleaved ? ropeInterleavedAvx2 : ropeHalvesAvx2;
  forPanels(exec, args.num_tokens, kPanelTokens, [&](int begin, int end, int thread) {
    float* cosines = arrays.cosines + std::int64_t{thread} * num_pairs;
    float* sines = arrays.sines + std::int64_t{thread} * num_pairs;
    for (int t = begin; t < end; ++t) {
      ropeAnglesAvx2(args.positions[t], args.inv_freq, num_pairs, cosines, sines);
      for (int h = 0; h < args.num_heads; ++h) {
        rotate(args.x + (std::int64_t{t} * args.num_heads + h) * args.head_dim, cosines, sines, num_pairs);
      }
    }
  });
}

}  // namespace

Kernel<RopeArgs> ropeAvx2() {
  return {"rope.avx2", "simd", "Rotary positions, AVX2", Device::kCpu, needsAvx2, ropeCost, scratchBytes, run};
}

}  // namespace inferoscope::kernels::cpu
