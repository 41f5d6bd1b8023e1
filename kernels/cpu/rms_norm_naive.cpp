// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/op_costs.h"

#include <cmath>

namespace inferoscope::kernels::cpu {
namespace {

constexpr int kPanelRows = 8;

void run(const RmsNormArgs& args, const Exec& exec) {
  forPanels(exec, args.num_tokens * args.num_heads, kPanelRows, [&](int begin, int end, int) {
    for (int i = begin; i < end; ++i) {
      const float* x = normedRow(args, i);
      float* out = args.out + std::int64_t{i} * args.dim;
      float squares = 0.0F;
      for (int d = 0; d < args.dim; ++d) squares += x[d] * x[d];
      const float scale = 1.0F / std::sqrt(squares / static_cast<float>(args.dim) + args.epsilon);
      for (int d = 0; d < args.dim; ++d) out[d] = x[d] * scale * args.weight[d];
    }
  });
}

}  // namespace

Kernel<RmsNormArgs> rmsNormNaive() {
  return {"rms_norm.naive", "naive", "RMS norm, one element at a time", Device::kCpu, whyNoNorm, rmsNormCost,
          noScratch,        run};
}

}  // namespace inferoscope::kernels::cpu
