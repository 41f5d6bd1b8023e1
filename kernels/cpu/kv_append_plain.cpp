// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/op_costs.h"

namespace inferoscope::kernels::cpu {
namespace {

constexpr int kPanelTokens = 16;

std::string supports(const KvAppendArgs& args) {
  return whyNotStored(args.kv.format, args.kv.head_dim, "heads");
}

void run(const KvAppendArgs& args, const Exec& exec) {
  const PagedKvView& kv = args.kv;
  const Format& format = formatOf(kv.format);
  forPanels(exec, args.num_tokens, kPanelTokens, [&](int begin, int end, int) {
    for (int t = begin; t < end; ++t) {
      for (int head = 0; head < kv.num_kv_heads; ++head) {
        const std::int64_t from = (std::int64_t{t} * kv.num_kv_heads + head) * kv.head_dim;
        const std::int64_t to = kvOffsetOf(kv, args.token_seqs[t], args.positions[t], head);
        format.encode(args.keys + from, kv.keys + to, kv.head_dim);
        format.encode(args.values + from, kv.values + to, kv.head_dim);
      }
    }
  });
}

}  // namespace

Kernel<KvAppendArgs> kvAppendPlain() {
  return {"kv_append.plain", "plain", "Store keys and values", Device::kCpu, supports, kvAppendCost, noScratch, run};
}

}  // namespace inferoscope::kernels::cpu
