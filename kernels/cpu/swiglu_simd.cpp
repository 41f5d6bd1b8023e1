// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/elementwise_avx2.h"
#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/op_costs.h"

namespace inferoscope::kernels::cpu {
namespace {

constexpr int kPanelTokens = 8;

// Token by token, so that an element's vector or remainder code does not depend on the tokens beside it.
void run(const SwiGluArgs& args, const Exec& exec) {
  forPanels(exec, args.num_tokens, kPanelTokens, [&](int begin, int end, int) {
    for (int t = begin; t < end; ++t) {
      const std::int64_t first = std::int64_t{t} * args.hidden_dim;
      swiGluRowAvx2(args.gate + first, args.up + first, args.hidden_dim, args.out + first);
    }
  });
}

}  // namespace

Kernel<SwiGluArgs> swiGluAvx2() {
  return {"swiglu.avx2", "simd", "SwiGLU, AVX2", Device::kCpu, needsAvx2, swiGluCost, noScratch, run};
}

}  // namespace inferoscope::kernels::cpu
