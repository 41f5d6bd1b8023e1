// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/queue.h"
#include "kernels/cuda/rows.h"
#include "kernels/op_costs.h"

namespace inferoscope::kernels::cuda {
namespace {

constexpr int kThreads = 128;

// A thread for a pair of one token, in all its heads: the angle is the same. It is found in double precision, since a
// float of some thousand radians has no digits left for the fraction, and brought near zero, where sines are cheap.
GPU_KERNEL void rope(float* x, const std::int32_t* positions, const double* inv_freq, int num_heads, int head_dim,
                     int num_pairs, bool interleaved) {
  constexpr double kTurn = 6.283185307179586477;
  const auto token = static_cast<int>(blockIdx.x);
  const auto pair = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x);
  if (pair >= num_pairs) return;
  const double angle = positions[token] * inv_freq[pair];
  const auto near = static_cast<float>(angle - kTurn * floor(angle / kTurn + 0.5));
  const float cosine = cosf(near);
  const float sine = sinf(near);

  float* first = x + std::int64_t{token} * num_heads * head_dim + (interleaved ? 2 * pair : pair);
  const int distance = interleaved ? 1 : num_pairs;
  for (int head = 0; head < num_heads; ++head) {
    float* a = first + std::int64_t{head} * head_dim;
    const float old_a = *a;
    const float old_b = a[distance];
    *a = old_a * cosine - old_b * sine;
    a[distance] = old_a * sine + old_b * cosine;
  }
}

void run(const RopeArgs& args, const Exec& exec) {
  DeviceQueue& queue = DeviceQueue::of(exec);
  const int num_pairs = args.rope_dim / 2;
  if (num_pairs == 0) return;
  const std::int32_t* positions = queue.onDevice(args.positions, args.num_tokens);
  const double* inv_freq = queue.onDevice(args.inv_freq, num_pairs);
  const Dim3 grid(static_cast<unsigned>(args.num_tokens), static_cast<unsigned>(ceilDiv(num_pairs, kThreads)));
  queue.launch(rope, grid, Dim3(kThreads), 0, args.x, positions, inv_freq, args.num_heads, args.head_dim, num_pairs,
               args.style == RopeStyle::kInterleaved);
}

}  // namespace

Kernel<RopeArgs> ropePairs() {
  return {"rope.cuda", "plain", "Rotary positions", kThisDevice, supportsAll, ropeCost, noScratch<RopeArgs>, run};
}

}  // namespace inferoscope::kernels::cuda
