// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/linear_interleaved.h"

#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/interleave.h"
#include "kernels/op_costs.h"

#include <algorithm>

namespace inferoscope::kernels::cpu {
namespace {

// Panels: enough of them that threads finish together, small enough that one stays in the second-level cache while the
// tiles of tokens pass by.
constexpr int kPanelsPerThread = 16;
constexpr std::int64_t kMostPanelBytes = 256 << 10;

using Find = GroupLinear (*)(FormatId);
using WhyNot = std::string (*)();

template <Find find, WhyNot whyNot>
std::string supports(const LinearArgs& args) {
  if (std::string reason = whyNot(); !reason.empty()) return reason;
  if (std::string reason = whyNotStored(args.w.format, args.w.num_cols, "rows"); !reason.empty()) return reason;
  if (args.w.layout != Layout::kInterleaved) return "the rows of the matrix are not interleaved";
  if (find(args.w.format).run == nullptr) {
    return "there is no code for interleaved " + std::string(formatOf(args.w.format).name);
  }
  return {};
}

std::int64_t tokenBytes(const GroupLinear& linear, int num_cols) {
  return num_cols / linear.block_cols * linear.block_token_bytes;
}

template <Find find>
std::size_t scratchBytes(const LinearArgs& args, int) {
  return static_cast<std::size_t>(tokenBytes(find(args.w.format), args.w.num_cols)) *
         static_cast<std::size_t>(args.num_tokens);
}

template <Find find>
OpCost cost(const LinearArgs& args) {
  OpCost cost = linearCost(args);
  if (find(args.w.format).dots_bytes) cost.int8_ops = cost.flops;
  return cost;
}

// Once for all rows of the matrix.
void packTokens(const LinearArgs& args, const GroupLinear& linear, const Exec& exec) {
  const int num_cols = args.w.num_cols;
  const std::int64_t token_bytes = tokenBytes(linear, num_cols);
  forPanels(exec, args.num_tokens, linear.most_tokens, [&](int begin, int end, int) {
    for (int t = begin; t < end;) {
      t += linear.packTile(args.x + std::int64_t{t} * num_cols, end - t, num_cols,
                           exec.scratch.data() + t * token_bytes);
    }
  });
}

template <Find find>
void run(const LinearArgs& args, const Exec& exec) {
  const GroupLinear linear = find(args.w.format);
  packTokens(args, linear, exec);

  const std::int64_t group_bytes = groupBytes(args.w);
  const int num_groups = numGroups(args.w);
  const int share = num_groups / (exec.pool->numThreads() * kPanelsPerThread);
  const int panel_groups = std::max(1, std::min(share, static_cast<int>(kMostPanelBytes / group_bytes)));
  forPanels(exec, num_groups, panel_groups, [&](int begin, int end, int) {
    const int row = begin * kGroupRows;
    linear.run({.groups = args.w.data + begin * group_bytes,
                .group_bytes = group_bytes,
                .num_rows = std::min(end * kGroupRows, args.w.num_rows) - row,
                .num_cols = args.w.num_cols,
                .x = exec.scratch.data(),
                .x_token_bytes = tokenBytes(linear, args.w.num_cols),
                .num_tokens = args.num_tokens,
                .out = args.out + row,
                .out_stride = args.w.num_rows});
  });
}

template <Find find, WhyNot whyNot>
Kernel<LinearArgs> row(std::string_view id, std::string_view title) {
  return {id, "simd", title, Device::kCpu, supports<find, whyNot>, cost<find>, scratchBytes<find>, run<find>};
}

}  // namespace

Kernel<LinearArgs> linearGroupsAvx512() {
  return row<groupLinearAvx512, whyNoAvx512>("linear.avx512", "Linear on interleaved rows, AVX-512");
}

Kernel<LinearArgs> linearGroupsAvxVnni() {
  return row<groupLinearAvxVnni, whyNoAvxVnni>("linear.avx_vnni", "Linear on interleaved rows, AVX-VNNI");
}

Kernel<LinearArgs> linearGroupsAvx2() {
  return row<groupLinearAvx2, whyNoAvx2>("linear.avx2_groups", "Linear on interleaved rows, AVX2");
}

}  // namespace inferoscope::kernels::cpu
