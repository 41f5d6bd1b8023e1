// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/planes.h"
#include "kernels/cuda/queue.h"
#include "kernels/cuda/rows.h"
#include "kernels/op_costs.h"

namespace inferoscope::kernels::cuda {
namespace {

// Few columns: the time goes to reading the weights, once for all columns. A warp takes a row.
constexpr int kMostColumns = 8;
constexpr int kWarps = 4;

// Activations as signed bytes for the quantized formats: [num_tokens, num_cols], and for each 32 {d, d * sum of q}.
struct QuantizedX {
  std::int8_t* q;
  float2* scales;
};

QuantizedX quantizedX(Scratch& scratch, const LinearArgs& args) {
  const std::int64_t count = std::int64_t{args.num_tokens} * args.w.num_cols;
  return {scratch.take<std::int8_t>(count), scratch.take<float2>(count / 32)};
}

// A warp for 32 activations.
GPU_KERNEL void quantizeX(const float* x, std::int8_t* q, float2* scales, std::int64_t num_blocks) {
  const std::int64_t block = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const auto lane = static_cast<int>(threadIdx.x % 32);
  if (block >= num_blocks) return;
  const float value = x[block * 32 + lane];
  const float d = warpMax(fabsf(value)) / 127.0F;
  const float inverse = d != 0.0F ? 1.0F / d : 0.0F;
  const float rounded = roundf(value * inverse);
  q[block * 32 + lane] = static_cast<std::int8_t>(fminf(fmaxf(rounded, -127.0F), 127.0F));
  const float sum = warpSum(rounded);
  // NaN or infinity in, NaN out: a byte has neither.
  if (lane == 0) scales[block] = {isfinite(sum) ? d : NAN, d * sum};
}

template <int kColumns>
GPU_DEVICE void storeSums(float (&sums)[kColumns], float* out, int row, int num_rows, int num_tokens) {
  GPU_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    const float sum = warpSum(sums[c]);
    if (threadIdx.x % 32 == 0 && c < num_tokens) out[std::int64_t{c} * num_rows + row] = sum;
  }
}

// Columns past the last repeat it, so that they need no branch.
GPU_DEVICE std::int64_t columnOf(int c, int num_tokens) {
  return c < num_tokens ? c : num_tokens - 1;
}

template <class F, int kColumns>
GPU_KERNEL void gemvQuantized(Planes w, const std::int8_t* q, const float2* scales, float* out, int num_rows,
                              int row_blocks, int num_tokens) {
  const auto row = static_cast<int>(blockIdx.x * kWarps + threadIdx.x / 32);
  if (row >= num_rows) return;
  float sums[kColumns] = {};
  for (auto b = static_cast<int>(threadIdx.x % 32); b < row_blocks; b += 32) {
    const Block32 block = F::load(w, std::int64_t{row} * row_blocks + b);
    GPU_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      const std::int64_t at = columnOf(c, num_tokens) * row_blocks + b;
      const int4 first = *reinterpret_cast<const int4*>(q + 32 * at);
      const int4 second = *reinterpret_cast<const int4*>(q + 32 * at + 16);
      const float2 scale = scales[at];
      const int dot0 =
          dot4(block.q[0], first.x, dot4(block.q[1], first.y, dot4(block.q[2], first.z, dot4(block.q[3], first.w, 0))));
      const int dot1 = dot4(block.q[4], second.x,
                            dot4(block.q[5], second.y, dot4(block.q[6], second.z, dot4(block.q[7], second.w, 0))));
      const float dot = block.scale[0] * static_cast<float>(dot0) + block.scale[1] * static_cast<float>(dot1);
      sums[c] += scale.x * dot + block.min * scale.y;
    }
  }
  storeSums<kColumns>(sums, out, row, num_rows, num_tokens);
}

template <class F, int kColumns>
GPU_KERNEL void gemvPlain(const std::byte* w, const float* x, float* out, int num_rows, int num_cols, int num_tokens) {
  const auto row = static_cast<int>(blockIdx.x * kWarps + threadIdx.x / 32);
  if (row >= num_rows) return;
  float sums[kColumns] = {};
  for (auto i = static_cast<int>(threadIdx.x % 32) * 8; i < num_cols; i += 256) {
    float weights[8];
    F::load8(w, std::int64_t{row} * num_cols + i, weights);
    GPU_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      float values[8];
      Stored<0>::load8(reinterpret_cast<const std::byte*>(x), columnOf(c, num_tokens) * num_cols + i, values);
      GPU_UNROLL
      for (int j = 0; j < 8; ++j) sums[c] += weights[j] * values[j];
    }
  }
  storeSums<kColumns>(sums, out, row, num_rows, num_tokens);
}

template <class F, int kColumns>
void launchGemv(const LinearArgs& args, const QuantizedX& x, DeviceQueue& queue) {
  const WeightMatrix& w = args.w;
  const Dim3 grid(static_cast<unsigned>(ceilDiv(w.num_rows, kWarps)));
  if constexpr (F::kQuantized) {
    const Planes planes{w.data, std::int64_t{w.num_rows} * w.num_cols / 32};
    queue.launch(gemvQuantized<F, kColumns>, grid, Dim3(32 * kWarps), 0, planes, x.q, x.scales, args.out, w.num_rows,
                 w.num_cols / 32, args.num_tokens);
  } else {
    queue.launch(gemvPlain<F, kColumns>, grid, Dim3(32 * kWarps), 0, w.data, args.x, args.out, w.num_rows, w.num_cols,
                 args.num_tokens);
  }
}

template <class F>
void run(const LinearArgs& args, const Exec& exec) {
  DeviceQueue& queue = DeviceQueue::of(exec);
  QuantizedX x{};
  if constexpr (F::kQuantized) {
    Scratch scratch(exec.scratch.data());
    x = quantizedX(scratch, args);
    const std::int64_t num_blocks = std::int64_t{args.num_tokens} * args.w.num_cols / 32;
    queue.launch(quantizeX, Dim3(static_cast<unsigned>(ceilDiv(num_blocks, std::int64_t{kWarps}))), Dim3(32 * kWarps),
                 0, args.x, x.q, x.scales, num_blocks);
  }
  if (args.num_tokens == 1) {
    launchGemv<F, 1>(args, x, queue);
  } else if (args.num_tokens == 2) {
    launchGemv<F, 2>(args, x, queue);
  } else if (args.num_tokens <= 4) {
    launchGemv<F, 4>(args, x, queue);
  } else {
    launchGemv<F, 8>(args, x, queue);
  }
}

std::string supports(const LinearArgs& args) {
  if (args.num_tokens > kMostColumns) return "it is for at most 8 tokens, not " + std::to_string(args.num_tokens);
  if (std::string reason = whyNoPlanes(args.w); !reason.empty()) return reason;
  if (args.w.num_cols % 8 == 0) return {};
  return "rows of " + std::to_string(args.w.num_cols) + " elements are no multiple of 8";
}

bool isQuantized(FormatId format) {
  bool quantized = false;
  forStored(format, [&](auto stored) { quantized = decltype(stored)::kQuantized; });
  return quantized;
}

std::size_t scratchBytes(const LinearArgs& args, int) {
  if (!isQuantized(args.w.format)) return 0;
  Scratch scratch(nullptr);
  quantizedX(scratch, args);
  return scratch.usedBytes();
}

OpCost cost(const LinearArgs& args) {
  OpCost cost = linearCost(args);
  if (isQuantized(args.w.format)) cost.int8_ops = cost.flops;
  return cost;
}

void runAny(const LinearArgs& args, const Exec& exec) {
  forStored(args.w.format, [&](auto stored) { run<decltype(stored)>(args, exec); });
}

}  // namespace

Kernel<LinearArgs> linearGemv() {
  return {"linear.gemv", "own", "Matrix of weights times few vectors", kThisDevice, supports, cost,
          scratchBytes,  runAny};
}

}  // namespace inferoscope::kernels::cuda
