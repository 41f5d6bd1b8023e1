// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/scratch.h"
#include "kernels/interleave.h"
#include "kernels/op_costs.h"

namespace inferoscope::kernels::cpu {
namespace {

constexpr int kPanelRows = 16;

std::string supports(const LinearArgs& args) {
  return whyNotStored(args.w.format, args.w.num_cols, "rows");
}

// A row of the matrix a thread: as stored, and decoded.
struct Arrays {
  Arrays(const LinearArgs& args, int num_threads, std::byte* begin) : scratch(begin) {
    row_bytes = storedBytes(formatOf(args.w.format), args.w.num_cols);
    stored = scratch.take<std::byte>(num_threads * row_bytes);
    decoded = scratch.take<float>(std::int64_t{num_threads} * args.w.num_cols);
  }

  Scratch scratch;
  std::int64_t row_bytes;
  std::byte* stored;  // [num_threads, row_bytes]
  float* decoded;     // [num_threads, num_cols]
};

std::size_t scratchBytes(const LinearArgs& args, int num_threads) {
  return Arrays(args, num_threads, nullptr).scratch.usedBytes();
}

float dot(const float* a, const float* b, int num_elems) {
  float sum = 0.0F;
  for (int i = 0; i < num_elems; ++i) sum += a[i] * b[i];
  return sum;
}

void run(const LinearArgs& args, const Exec& exec) {
  const Format& format = formatOf(args.w.format);
  const int num_cols = args.w.num_cols;
  const Arrays arrays(args, exec.pool->numThreads(), exec.scratch.data());
  forPanels(exec, args.w.num_rows, kPanelRows, [&](int begin, int end, int thread) {
    std::byte* stored = arrays.stored + thread * arrays.row_bytes;
    float* row = arrays.decoded + std::int64_t{thread} * num_cols;
    for (int r = begin; r < end; ++r) {
      copyRow(args.w, r, stored);
      format.decode(stored, row, num_cols);
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
