// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/planes.h"
#include "kernels/cuda/queue.h"
#include "kernels/cuda/rows.h"
#include "kernels/op_costs.h"

#include <algorithm>

namespace inferoscope::kernels::cuda {
namespace {

// Many columns: the weights become halves, a panel of rows at a time, and cuBLAS multiplies.
constexpr int kThreads = 256;
constexpr std::int64_t kPanelElems = std::int64_t{32} << 20;
constexpr int kPanelMultiple = 64;  // rows, so that each panel's results begin aligned

// cuBLAS wants rows that begin at multiples of 16 bytes.
int paddedCols(const LinearArgs& args) {
  return ceilDiv(args.w.num_cols, 8) * 8;
}

bool isReady(const LinearArgs& args) {
  return args.w.format == FormatId{1} && paddedCols(args) == args.w.num_cols;
}

int panelRows(const LinearArgs& args) {
  const auto most = static_cast<int>(kPanelElems / paddedCols(args)) / kPanelMultiple * kPanelMultiple;
  return std::min(args.w.num_rows, std::max(most, kPanelMultiple));
}

struct Halves {
  Halves(const LinearArgs& args, std::byte* begin) : scratch(begin) {
    x = scratch.take<std::uint16_t>(std::int64_t{args.num_tokens} * paddedCols(args));
    if (!isReady(args)) w = scratch.take<std::uint16_t>(std::int64_t{panelRows(args)} * paddedCols(args));
  }
  Scratch scratch;
  std::uint16_t* x;            // [num_tokens, paddedCols]
  std::uint16_t* w = nullptr;  // [panelRows, paddedCols]
};

// Rows of plain values to halves, a block a row; zeros behind num_cols.
template <class F>
GPU_KERNEL void toHalves(const std::byte* from, std::int64_t first_row, std::uint16_t* to, int num_cols, int padded) {
  const std::int64_t row = blockIdx.x;
  for (auto i = static_cast<int>(threadIdx.x); i < padded; i += kThreads) {
    const float value = i < num_cols ? F::at(from, (first_row + row) * num_cols + i) : 0.0F;
    to[row * padded + i] = floatToHalfFast(value);
  }
}

// Rows of quantized values to halves, a thread for 32 of them.
template <class F>
GPU_KERNEL void blocksToHalves(Planes w, std::int64_t first_block, std::int64_t num_blocks, std::uint16_t* to) {
  const std::int64_t b = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (b >= num_blocks) return;
  const Block32 block = F::load(w, first_block + b);
  auto* out = reinterpret_cast<uint4*>(to + 32 * b);
  GPU_UNROLL
  for (int i = 0; i < 4; ++i) {
    out[i] = {packHalves(valueOf(block, 8 * i), valueOf(block, 8 * i + 1)),
              packHalves(valueOf(block, 8 * i + 2), valueOf(block, 8 * i + 3)),
              packHalves(valueOf(block, 8 * i + 4), valueOf(block, 8 * i + 5)),
              packHalves(valueOf(block, 8 * i + 6), valueOf(block, 8 * i + 7))};
  }
}

void panelToHalves(const LinearArgs& args, int first_row, int num_rows, std::uint16_t* to, DeviceQueue& queue) {
  const WeightMatrix& w = args.w;
  forStored(w.format, [&](auto stored) {
    using F = decltype(stored);
    if constexpr (F::kQuantized) {
      const Planes planes{w.data, std::int64_t{w.num_rows} * w.num_cols / 32};
      const std::int64_t num_blocks = std::int64_t{num_rows} * w.num_cols / 32;
      queue.launch(blocksToHalves<F>, Dim3(static_cast<unsigned>(ceilDiv(num_blocks, std::int64_t{kThreads}))),
                   Dim3(kThreads), 0, planes, std::int64_t{first_row} * w.num_cols / 32, num_blocks, to);
    } else {
      queue.launch(toHalves<F>, Dim3(static_cast<unsigned>(num_rows)), Dim3(kThreads), 0, w.data,
                   std::int64_t{first_row}, to, w.num_cols, paddedCols(args));
    }
  });
}

void run(const LinearArgs& args, const Exec& exec) {
  DeviceQueue& queue = DeviceQueue::of(exec);
  const Halves halves(args, exec.scratch.data());
  const int padded = paddedCols(args);
  queue.launch(toHalves<Stored<0>>, Dim3(static_cast<unsigned>(args.num_tokens)), Dim3(kThreads), 0,
               reinterpret_cast<const std::byte*>(args.x), std::int64_t{0}, halves.x, args.w.num_cols, padded);
  for (int row = 0; row < args.w.num_rows; row += panelRows(args)) {
    const int num_rows = std::min(panelRows(args), args.w.num_rows - row);
    const auto* panel = reinterpret_cast<const std::uint16_t*>(args.w.data) + std::int64_t{row} * padded;
    if (!isReady(args)) {
      panelToHalves(args, row, num_rows, halves.w, queue);
      panel = halves.w;
    }
    queue.multiply({.transpose_a = true,
                    .m = num_rows,
                    .n = args.num_tokens,
                    .k = padded,
                    .a = panel,
                    .lda = padded,
                    .b = halves.x,
                    .ldb = padded,
                    .c = args.out + row,
                    .ldc = args.w.num_rows});
  }
}

std::string supports(const LinearArgs& args) {
  return whyNoPlanes(args.w);
}

std::size_t scratchBytes(const LinearArgs& args, int) {
  return Halves(args, nullptr).scratch.usedBytes();
}

}  // namespace

Kernel<LinearArgs> linearCublas() {
  return {"linear.cublas", "cublas", "Weights made halves, then cuBLAS", kThisDevice, supports, linearCost,
          scratchBytes,    run};
}

}  // namespace inferoscope::kernels::cuda
