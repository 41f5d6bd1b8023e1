// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/op_costs.h"

namespace inferoscope::kernels::cpu {
namespace {

constexpr int kPanelTokens = 16;

std::string supports(const EmbedArgs& args) {
  return whyNotStored(args.table.format, args.table.num_cols, "rows");
}

void run(const EmbedArgs& args, const Exec& exec) {
  const Format& format = formatOf(args.table.format);
  const int dim = args.table.num_cols;
  const std::int64_t row_bytes = storedBytes(format, dim);
  forPanels(exec, args.num_tokens, kPanelTokens, [&](int begin, int end, int) {
    for (int t = begin; t < end; ++t) {
      format.decode(args.table.data + args.token_ids[t] * row_bytes, args.out + std::int64_t{t} * dim, dim);
    }
  });
}

}  // namespace

Kernel<EmbedArgs> embedPlain() {
  return {"embed.plain", "plain", "Embedding rows", Device::kCpu, supports, embedCost, noScratch, run};
}

}  // namespace inferoscope::kernels::cpu
