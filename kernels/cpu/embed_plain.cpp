// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/interleave.h"
#include "kernels/op_costs.h"

namespace inferoscope::kernels::cpu {
namespace {

constexpr int kPanelTokens = 16;

std::string supports(const EmbedArgs& args) {
  return whyNotStored(args.table.format, args.table.num_cols, "rows");
}

std::size_t rowBytes(const EmbedArgs& args) {
  return static_cast<std::size_t>(storedBytes(formatOf(args.table.format), args.table.num_cols));
}

// A row of the table a thread.
std::size_t scratchBytes(const EmbedArgs& args, int num_threads) {
  return static_cast<std::size_t>(num_threads) * rowBytes(args);
}

void run(const EmbedArgs& args, const Exec& exec) {
  const Format& format = formatOf(args.table.format);
  const int dim = args.table.num_cols;
  forPanels(exec, args.num_tokens, kPanelTokens, [&](int begin, int end, int thread) {
    std::byte* row = exec.scratch.data() + static_cast<std::size_t>(thread) * rowBytes(args);
    for (int t = begin; t < end; ++t) {
      copyRow(args.table, args.token_ids[t], row);
      format.decode(row, args.out + std::int64_t{t} * dim, dim);
    }
  });
}

}  // namespace

Kernel<EmbedArgs> embedPlain() {
  return {"embed.plain", "plain", "Embedding rows", Device::kCpu, supports, embedCost, scratchBytes, run};
}

}  // namespace inferoscope::kernels::cpu
