// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/op_costs.h"

namespace inferoscope::kernels::cpu {
namespace {

constexpr int kPanelRows = 16;

std::string supports(const LinearArgs& args) {
  return whyNotStored(args.w.format, args.w.num_cols, "rows");
}

// One decoded row of the matrix a thread.
std::size_t scratchBytes(const LinearArgs& args, int num_threads) {
  return static_cast<std::size_t>(num_threads) * static_cast<std::size_t>(args.w.num_cols) * sizeof(float);
}

float dot(const float* a, const float* b, int num_elems) {
  float sum = 0.0F;
  for (int i = 0; i < num_elems; ++i) sum += a[i] * b[i];
  return sum;
}

void run(const LinearArgs& args, const Exec& exec) {
  const Format& format = formatOf(args.w.format);
  const int num_cols = args.w.num_cols;
  const std::int64_t row_bytes = storedBytes(format, num_cols);
  auto* decoded = reinterpret_cast<float*>(exec.scratch.data());
  forPanels(exec, args.w.num_rows, kPanelRows, [&](int begin, int end, int thread) {
    float* row = decoded + std::int64_t{thread} * num_cols;
    for (int r = begin; r < end; ++r) {
      format.decode(args.w.data + r * row_bytes, row, num_cols);
      for (int t = 0; t < args.num_tokens; ++t) {
        args.out[std::int64_t{t} * args.w.num_rows + r] = dot(args.x + std::int64_t{t} * num_cols, row, num_cols);
      }
    }
  });
}

}  // namespace

Kernel<LinearArgs> linearNaive() {
  return {"linear.naive", "naive", "Linear, one element at a time", Device::kCpu, supports, linearCost,
          scratchBytes,   run};
}

}  // namespace inferoscope::kernels::cpu
