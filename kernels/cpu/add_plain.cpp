// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/op_costs.h"

namespace inferoscope::kernels::cpu {
namespace {

constexpr int kPanelTokens = 32;

void run(const AddArgs& args, const Exec& exec) {
  forPanels(exec, args.num_tokens, kPanelTokens, [&](int begin, int end, int) {
    for (int t = begin; t < end; ++t) {
      const std::int64_t start = std::int64_t{t} * args.dim;
      float* x = args.x + start;
      const float* y = args.is_bias ? args.y : args.y + start;
      for (int i = 0; i < args.dim; ++i) x[i] += y[i];
    }
  });
}

}  // namespace

Kernel<AddArgs> addPlain() {
  return {"add.plain", "plain", "Add", Device::kCpu, supportsAll, addCost, noScratch, run};
}

}  // namespace inferoscope::kernels::cpu
