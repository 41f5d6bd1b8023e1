// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/queue.h"
#include "kernels/cuda/rows.h"
#include "kernels/op_costs.h"

namespace inferoscope::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// A block a row of x, which is read a second time from the nearest cache; out may be x.
GPU_KERNEL void rmsNorm(const float* x, const float* weight, const std::int32_t* rows, float* out, int num_heads,
                        int dim, float epsilon) {
  const auto row = static_cast<int>(blockIdx.x);
  const auto thread = static_cast<int>(threadIdx.x);
  const int token = row / num_heads;
  const int from_token = rows == nullptr ? token : rows[token];
  const float* from = x + (std::int64_t{from_token} * num_heads + row % num_heads) * dim;
  float* to = out + std::int64_t{row} * dim;

  float squares = 0.0F;
  for (int i = thread; i < dim; i += kThreads) squares += from[i] * from[i];
  const float mean = blockSum(squares) / static_cast<float>(dim);
  const float factor = 1.0F / sqrtf(mean + epsilon);
  for (int i = thread; i < dim; i += kThreads) to[i] = from[i] * factor * weight[i];
}

void run(const RmsNormArgs& args, const Exec& exec) {
  DeviceQueue& queue = DeviceQueue::of(exec);
  const std::int32_t* rows = args.rows == nullptr ? nullptr : queue.onDevice(args.rows, args.num_tokens);
  launch(rmsNorm, Dim3(static_cast<unsigned>(args.num_tokens * args.num_heads)), Dim3(kThreads), 0, queue.stream(),
         args.x, args.weight, rows, args.out, args.num_heads, args.dim, args.epsilon);
  queue.runtime().checkLaunch();
}

}  // namespace

Kernel<RmsNormArgs> rmsNormBlock() {
  return {"rms_norm.cuda", "plain", "RMS norm", kThisDevice, supportsAll, rmsNormCost, noScratch<RmsNormArgs>, run};
}

}  // namespace inferoscope::kernels::cuda
