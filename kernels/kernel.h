// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/op_cost.h"
#include "kernels/ops.h"

#include <cstddef>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

namespace inferoscope::kernels {

namespace cpu {
class Pool;
}
namespace cuda {
class Queue;
}

enum class Device : std::uint8_t { kCpu, kCuda, kCudaEmulation };

// What a kernel needs to run beside its arguments; made by the backend, one a step.
struct Exec {
  cpu::Pool* pool = nullptr;     // CPU kernels
  cuda::Queue* queue = nullptr;  // CUDA kernels, which only enqueue; scratch is the device's memory
  std::span<std::byte> scratch;  // at least scratchBytes(args), 64-byte aligned; contents undefined
  std::stop_token stop;          // asked between row panels; a stopped kernel returns early, its output is void
};

// One way to run an op: a row of the catalog. Functions are plain pointers: a kernel has no state.
template <class Args>
struct Kernel {
  std::string_view id;      // stable, in records and files: "linear.avx2"
  std::string_view choice;  // the knob value that asks for it: "simd", "naive"
  std::string_view title;   // for people
  Device device;

  // Empty if it can run these arguments on this machine, else the reason, for people ("this CPU has no AVX2").
  std::string (*supports)(const Args&);
  OpCost (*cost)(const Args&);
  std::size_t (*scratchBytes)(const Args&, int num_threads);
  void (*run)(const Args&, const Exec&);
};

}  // namespace inferoscope::kernels
