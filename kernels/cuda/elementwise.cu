// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/queue.h"
#include "kernels/cuda/rows.h"
#include "kernels/op_costs.h"

#include <algorithm>

namespace inferoscope::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 4096;  // enough for any device; each thread strides

Dim3 gridFor(std::int64_t count) {
  return Dim3(static_cast<unsigned>(std::min(ceilDiv(count, std::int64_t{kThreads}), kMostBlocks)));
}

GPU_DEVICE std::int64_t firstIndex() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
GPU_DEVICE std::int64_t indexStride() {
  return std::int64_t{gridDim.x} * blockDim.x;
}

GPU_KERNEL void swiGlu(const float* gate, const float* up, float* out, std::int64_t count) {
  for (std::int64_t i = firstIndex(); i < count; i += indexStride()) {
    const float g = gate[i];
    out[i] = g / (1.0F + expf(-g)) * up[i];
  }
}

// y has y_count elements, and begins again for a longer x.
GPU_KERNEL void add(float* x, const float* y, std::int64_t count, std::int64_t y_count) {
  for (std::int64_t i = firstIndex(); i < count; i += indexStride()) x[i] += y[i < y_count ? i : i % y_count];
}

void runSwiGlu(const SwiGluArgs& args, const Exec& exec) {
  DeviceQueue& queue = DeviceQueue::of(exec);
  const std::int64_t count = std::int64_t{args.num_tokens} * args.hidden_dim;
  queue.launch(swiGlu, gridFor(count), Dim3(kThreads), 0, args.gate, args.up, args.out, count);
}

void runAdd(const AddArgs& args, const Exec& exec) {
  DeviceQueue& queue = DeviceQueue::of(exec);
  const std::int64_t count = std::int64_t{args.num_tokens} * args.dim;
  queue.launch(add, gridFor(count), Dim3(kThreads), 0, args.x, args.y, count,
               args.is_bias ? std::int64_t{args.dim} : count);
}

}  // namespace

Kernel<SwiGluArgs> swiGluElements() {
  return {"swiglu.cuda", "plain",    "SiLU of the gate times up", kThisDevice,
          supportsAll,   swiGluCost, noScratch<SwiGluArgs>,       runSwiGlu};
}

Kernel<AddArgs> addElements() {
  return {"add.cuda", "plain", "Add to the residual", kThisDevice, supportsAll, addCost, noScratch<AddArgs>, runAdd};
}

}  // namespace inferoscope::kernels::cuda
