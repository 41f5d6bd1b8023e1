// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/op_costs.h"

namespace inferoscope::kernels::cpu {
namespace {

constexpr int kPanelTokens = 32;

void run(const AddArgs& args, const Exec& exec) {
  forPanels(exec, args.num_tokens, kPanelTokens, [&](int begin, int end, int) {
    const std::int64_t last = std::int64_t{end} * args.dim;
    for (std::int64_t i = std::int64_t{begin} * args.dim; i < last; ++i) args.x[i] += args.y[i];
  });
}

}  // namespace

Kernel<AddArgs> addPlain() {
  return {"add.plain", "plain", "Add", Device::kCpu, supportsAll, addCost, noScratch, run};
}

}  // namespace inferoscope::kernels::cpu
