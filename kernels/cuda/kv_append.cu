// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/paged.h"
#include "kernels/cuda/queue.h"
#include "kernels/cuda/rows.h"
#include "kernels/op_costs.h"

namespace inferoscope::kernels::cuda {
namespace {

constexpr int kThreads = 32;

// A warp for 32 elements of one vector, bit for bit as the CPU stores them.
GPU_DEVICE void storeQ8(const float* from, std::byte* to, int dim) {
  const auto lane = static_cast<int>(threadIdx.x);
  for (int begin = 0; begin < dim; begin += 32) {
    const float value = from[begin + lane];
    const float d = warpMax(fabsf(value)) / 127.0F;
    const float inverse = d != 0.0F ? 1.0F / d : 0.0F;
    const float scaled = fminf(fmaxf(roundf(value * inverse), -127.0F), 127.0F);
    std::byte* block = to + begin / 32 * 34;
    if (lane == 0) *reinterpret_cast<std::uint16_t*>(block) = floatToHalfFast(d);
    reinterpret_cast<std::int8_t*>(block + 2)[lane] = static_cast<std::int8_t>(scaled);
  }
}

template <std::uint32_t kFormat>
GPU_DEVICE void store(const float* from, std::byte* to, int dim) {
  if constexpr (kFormat == kKvQ8) {
    storeQ8(from, to, dim);
  } else {
    for (auto i = static_cast<int>(threadIdx.x); i < dim; i += kThreads) {
      if constexpr (kFormat == kKvF16) {
        reinterpret_cast<std::uint16_t*>(to)[i] = floatToHalfFast(from[i]);
      } else {
        reinterpret_cast<float*>(to)[i] = from[i];
      }
    }
  }
}

// A warp for one head's key and value of a token.
template <std::uint32_t kFormat>
GPU_KERNEL void kvAppend(const float* keys, const float* values, const std::int32_t* positions,
                         const std::int32_t* token_seqs, DeviceKv kv) {
  const auto token = static_cast<int>(blockIdx.x);
  const auto head = static_cast<int>(blockIdx.y);
  const std::int64_t from = (std::int64_t{token} * kv.num_kv_heads + head) * kv.head_dim;
  const std::int64_t to = slotOffset(kv, token_seqs[token], positions[token], head);
  store<kFormat>(keys + from, kv.keys + to, kv.head_dim);
  store<kFormat>(values + from, kv.values + to, kv.head_dim);
}

std::string supports(const KvAppendArgs& args) {
  return whyNoKv(args.kv);
}

void run(const KvAppendArgs& args, const Exec& exec) {
  DeviceQueue& queue = DeviceQueue::of(exec);
  const std::int32_t* positions = queue.onDevice(args.positions, args.num_tokens);
  const std::int32_t* seqs = queue.onDevice(args.token_seqs, args.num_tokens);
  const DeviceKv kv = onDevice(queue, args.kv);
  const Dim3 grid(static_cast<unsigned>(args.num_tokens), static_cast<unsigned>(kv.num_kv_heads));
  forKvFormat(args.kv.format, [&](auto format) {
    queue.launch(kvAppend<decltype(format)::value>, grid, Dim3(kThreads), 0, args.keys, args.values, positions, seqs,
                 kv);
  });
}

}  // namespace

Kernel<KvAppendArgs> kvAppendWarp() {
  return {"kv_append.cuda", "plain",      "Store keys and values", kThisDevice,
          supports,         kvAppendCost, noScratch<KvAppendArgs>, run};
}

}  // namespace inferoscope::kernels::cuda
