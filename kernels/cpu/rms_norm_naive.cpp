// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/op_costs.h"

#include <cmath>

namespace inferoscope::kernels::cpu {
namespace {

constexpr int kPanelTokens = 8;

void run(const RmsNormArgs& args, const Exec& exec) {
  forPanels(exec, args.num_tokens, kPanelTokens, [&](int begin, int end, int) {
    for (int t = begin; t < end; ++t) {
      const float* x = args.x + std::int64_t{args.rows != nullptr ? args.rows[t] : t} * args.dim;
      float* out = args.out + std::int64_t{t} * args.dim;
      float squares = 0.0F;
      for (int i = 0; i < args.dim; ++i) squares += x[i] * x[i];
      const float scale = 1.0F / std::sqrt(squares / static_cast<float>(args.dim) + args.epsilon);
      for (int i = 0; i < args.dim; ++i) out[i] = x[i] * scale * args.weight[i];
    }
  });
}

}  // namespace

Kernel<RmsNormArgs> rmsNormNaive() {
  return {"rms_norm.naive", "naive", "RMS norm, one element at a time", Device::kCpu, supportsAll, rmsNormCost,
          noScratch,        run};
}

}  // namespace inferoscope::kernels::cpu
