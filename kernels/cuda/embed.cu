// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/planes.h"
#include "kernels/cuda/queue.h"
#include "kernels/cuda/rows.h"
#include "kernels/op_costs.h"

namespace inferoscope::kernels::cuda {
namespace {

constexpr int kThreads = 128;

// A block a token.
template <class F>
GPU_KERNEL void embed(const std::byte* table, std::int64_t num_elems, const std::int32_t* token_ids, int dim,
                      float* out) {
  const auto token = static_cast<int>(blockIdx.x);
  const std::int64_t row = token_ids[token];
  float* to = out + std::int64_t{token} * dim;
  const auto thread = static_cast<int>(threadIdx.x);
  if constexpr (F::kQuantized) {
    const int row_blocks = dim / 32;
    for (int b = thread; b < row_blocks; b += kThreads) {
      const Block32 block = F::load({table, num_elems / 32}, row * row_blocks + b);
      for (int i = 0; i < 32; ++i) to[32 * b + i] = valueOf(block, i);
    }
  } else {
    for (int i = thread; i < dim; i += kThreads) to[i] = F::at(table, row * dim + i);
  }
}

std::string supports(const EmbedArgs& args) {
  return whyNoPlanes(args.table);
}

void run(const EmbedArgs& args, const Exec& exec) {
  DeviceQueue& queue = DeviceQueue::of(exec);
  const std::int32_t* ids = queue.onDevice(args.token_ids, args.num_tokens);
  const int dim = args.table.num_cols;
  const std::int64_t num_elems = std::int64_t{args.table.num_rows} * dim;
  forStored(args.table.format, [&](auto stored) {
    queue.launch(embed<decltype(stored)>, Dim3(static_cast<unsigned>(args.num_tokens)), Dim3(kThreads), 0,
                 args.table.data, num_elems, ids, dim, args.out);
  });
}

}  // namespace

Kernel<EmbedArgs> embedRows() {
  return {"embed.cuda", "plain", "Embedding rows", kThisDevice, supports, embedCost, noScratch<EmbedArgs>, run};
}

}  // namespace inferoscope::kernels::cuda
