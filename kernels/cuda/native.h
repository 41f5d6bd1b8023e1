// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/runtime.h"

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <string>
#include <vector>

// What runtime.cu and gemm.cu share; only for a build with nvcc.
namespace inferoscope::kernels::cuda {

constexpr std::size_t kBlasWorkspaceBytes = std::size_t{32} << 20;  // what cuBLAS asks for on Hopper

inline void check(cudaError_t error, const char* doing) {
  if (error != cudaSuccess) throw DeviceError(std::string(doing) + ": " + cudaGetErrorString(error));
}

inline void check(cublasStatus_t status, const char* doing) {
  if (status != CUBLAS_STATUS_SUCCESS) throw DeviceError(std::string(doing) + ": " + cublasGetStatusString(status));
}

struct Runtime::Impl {
  Impl() = default;
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Allocations, events and launches go to the thread's current device, and a thread may work on several in turn.
  Impl& current() {
    check(cudaSetDevice(device), "choosing the device");
    return *this;
  }

  int device = 0;
  cudaStream_t stream = nullptr;
  cublasHandle_t blas = nullptr;
  std::byte* workspace = nullptr;  // given to cuBLAS, which would allocate within a graph otherwise
  std::vector<cudaEvent_t> events;
  bool capturing = false;
  int num_resets = 0;  // of the device when this was made: memory from before is gone
};

}  // namespace inferoscope::kernels::cuda
