// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/linear_avx2.h"
#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/op_costs.h"

namespace inferoscope::kernels::cpu {
namespace {

constexpr int kPanelRows = 32;
constexpr int kPanelTokens = 8;  // quantized by a thread at once

std::string supports(const LinearArgs& args) {
  if (std::string reason = whyNoAvx2(); !reason.empty()) return reason;
  if (std::string reason = whyNotStored(args.w.format, args.w.num_cols, "rows"); !reason.empty()) return reason;
  if (args.w.layout != Layout::kRows) return "the rows of the matrix are interleaved";
  if (linearAvx2For(args.w.format).run == nullptr) {
    return "there is no AVX2 code for " + std::string(formatOf(args.w.format).name);
  }
  return {};
}

// Activations quantized once for all rows of the matrix.
std::size_t scratchBytes(const LinearArgs& args, int) {
  if (!linearAvx2For(args.w.format).quantizes_x) return 0;
  return static_cast<std::size_t>(quantizedRowBytes(args.w.num_cols)) * static_cast<std::size_t>(args.num_tokens);
}

void quantize(const LinearArgs& args, const Exec& exec) {
  const int num_cols = args.w.num_cols;
  const std::int64_t row_bytes = quantizedRowBytes(num_cols);
  forPanels(exec, args.num_tokens, kPanelTokens, [&](int begin, int end, int) {
    for (int t = begin; t < end; ++t) {
      quantizeRowAvx2(args.x + std::int64_t{t} * num_cols, num_cols, exec.scratch.data() + t * row_bytes);
    }
  });
}

OpCost cost(const LinearArgs& args) {
  OpCost cost = linearCost(args);
  if (linearAvx2For(args.w.format).quantizes_x) cost.int8_ops = cost.flops;
  return cost;
}

void run(const LinearArgs& args, const Exec& exec) {
  const LinearAvx2 linear = linearAvx2For(args.w.format);
  if (linear.quantizes_x) quantize(args, exec);
  const int num_cols = args.w.num_cols;
  const std::int64_t row_bytes = storedBytes(formatOf(args.w.format), num_cols);
  const auto* floats = reinterpret_cast<const std::byte*>(args.x);
  forPanels(exec, args.w.num_rows, kPanelRows, [&](int begin, int end, int) {
    linear.run({.w = args.w.data + begin * row_bytes,
                .num_rows = end - begin,
                .num_cols = num_cols,
                .x = linear.quantizes_x ? exec.scratch.data() : floats,
                .x_bytes = linear.quantizes_x ? quantizedRowBytes(num_cols) : std::int64_t{num_cols} * 4,
                .num_tokens = args.num_tokens,
                .out = args.out + begin,
                .out_stride = args.w.num_rows});
  });
}

}  // namespace

Kernel<LinearArgs> linearAvx2() {
  return {"linear.avx2", "simd", "Linear, AVX2", Device::kCpu, supports, cost, scratchBytes, run};
}

}  // namespace inferoscope::kernels::cpu
