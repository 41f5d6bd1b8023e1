// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/backend/backend.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace inferoscope::core {

// What the CUDA module says of the GPUs of this machine.
struct GpuListing {
  struct Gpu {
    std::string id;    // "cuda:0"
    std::string name;  // "NVIDIA H100 80GB HBM3, compute capability 9.0, 79.1 GiB"
  };
  std::vector<Gpu> gpus;
  std::string why_none;  // for people; empty if there are any
};

// Opens the module, which takes a quarter of a second: not for a thread that paints.
GpuListing listGpus();

// device: "cpu", "cuda:N", or "cuda-emu", CUDA's kernels on the CPU, which is for tests. num_threads as in
// makeCpuBackend(). Throws Error with the reason if the device can't be used.
std::unique_ptr<Backend> makeBackend(std::string_view device, int num_threads);

}  // namespace inferoscope::core
