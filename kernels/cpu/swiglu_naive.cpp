// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/op_costs.h"

#include <cmath>

namespace inferoscope::kernels::cpu {
namespace {

constexpr int kPanelTokens = 8;

void run(const SwiGluArgs& args, const Exec& exec) {
  forPanels(exec, args.num_tokens, kPanelTokens, [&](int begin, int end, int) {
    const std::int64_t last = std::int64_t{end} * args.hidden_dim;
    for (std::int64_t i = std::int64_t{begin} * args.hidden_dim; i < last; ++i) {
      args.out[i] = args.gate[i] / (1.0F + std::exp(-args.gate[i])) * args.up[i];
    }
  });
}

}  // namespace

Kernel<SwiGluArgs> swiGluNaive() {
  return {"swiglu.naive", "naive", "SwiGLU, one element at a time", Device::kCpu, supportsAll, swiGluCost,
          noScratch,      run};
}

}  // namespace inferoscope::kernels::cpu
