// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/queue.h"
#include "kernels/cuda/rows.h"
#include "kernels/op_costs.h"

namespace inferoscope::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// A block a row of x, which is read a second time from the nearest cache; out may be x, or what is added.
template <bool kAdds>
GPU_KERNEL void rmsNorm(const float* x, const float* add, float* sum, const float* weight, const std::int32_t* rows,
                        float* out, int num_heads, int dim, float epsilon) {
  const auto row = static_cast<int>(blockIdx.x);
  const auto thread = static_cast<int>(threadIdx.x);
  const int token = row / num_heads;
  const int from_token = rows == nullptr ? token : rows[token];
  const float* from = x + (std::int64_t{from_token} * num_heads + row % num_heads) * dim;
  const std::int64_t to = std::int64_t{row} * dim;

  float squares = 0.0F;
  for (int i = thread; i < dim; i += kThreads) {
    float value = from[i];
    if constexpr (kAdds) sum[to + i] = value += add[to + i];
    squares += value * value;
  }
  if constexpr (kAdds) from = sum + to;  // each thread what it wrote
  const float mean = blockSum(squares) / static_cast<float>(dim);
  const float factor = 1.0F / sqrtf(mean + epsilon);
  for (int i = thread; i < dim; i += kThreads) out[to + i] = from[i] * factor * weight[i];
}

template <bool kAdds>
std::string supports(const RmsNormArgs& args) {
  if ((args.add != nullptr) == kAdds) return {};
  return kAdds ? "there is nothing to add" : "it does not add";
}

template <bool kAdds>
void run(const RmsNormArgs& args, const Exec& exec) {
  DeviceQueue& queue = DeviceQueue::of(exec);
  const std::int32_t* rows = args.rows == nullptr ? nullptr : queue.onDevice(args.rows, args.num_tokens);
  queue.launch(rmsNorm<kAdds>, Dim3(static_cast<unsigned>(args.num_tokens * args.num_heads)), Dim3(kThreads), 0, args.x,
               args.add, args.sum, args.weight, rows, args.out, args.num_heads, args.dim, args.epsilon);
}

}  // namespace

Kernel<RmsNormArgs> rmsNormBlock() {
  return {"rms_norm.cuda",        "plain",   "RMS norm", kThisDevice, supports<false>, rmsNormCost,
          noScratch<RmsNormArgs>, run<false>};
}

Kernel<RmsNormArgs> rmsNormAdding() {
  return {"rms_norm.add_cuda",    "plain",  "Add to the residual and norm it", kThisDevice, supports<true>, rmsNormCost,
          noScratch<RmsNormArgs>, run<true>};
}

}  // namespace inferoscope::kernels::cuda
