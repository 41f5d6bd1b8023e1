// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/elementwise_avx2.h"
#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/op_costs.h"

namespace inferoscope::kernels::cpu {
namespace {

constexpr int kPanelRows = 8;

void run(const RmsNormArgs& args, const Exec& exec) {
  forPanels(exec, args.num_tokens * args.num_heads, kPanelRows, [&](int begin, int end, int) {
    for (int i = begin; i < end; ++i) {
      const float* x = normedRow(args, i);
      rmsNormRowAvx2(x, args.weight, args.dim, args.epsilon, args.out + std::int64_t{i} * args.dim);
    }
  });
}

std::string supports(const RmsNormArgs& args) {
  const std::string reason = whyNoNorm(args);
  return reason.empty() ? needsAvx2(args) : reason;
}

}  // namespace

Kernel<RmsNormArgs> rmsNormAvx2() {
  return {"rms_norm.avx2", "simd", "RMS norm, AVX2", Device::kCpu, supports, rmsNormCost, noScratch, run};
}

}  // namespace inferoscope::kernels::cpu
