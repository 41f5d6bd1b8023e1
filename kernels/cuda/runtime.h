// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/gpu.h"
#include "kernels/cuda/module.h"

#include <memory>
#include <string>
#include <vector>

namespace inferoscope::kernels::cuda {

// What of CUDA's runtime and of cuBLAS is used: runtime.cu and gemm.cu on a device, emulation/runtime.cpp and
// emulation/gemm.cpp on a CPU.

std::vector<DeviceInfo> listDevices(std::string& why_none);

// c = alpha * op(a) * op(b) for each of a batch, columns first as cuBLAS has it; a and b are halves, c and all sums
// are floats.
struct Gemm {
  bool transpose_a = false;
  bool transpose_b = false;
  int m = 0, n = 0, k = 0;  // c: [m, n]
  float alpha = 1.0F;
  const std::uint16_t* a;     // [m, k], or [k, m] transposed
  int lda;                    // elements from a column to the next
  std::int64_t stride_a = 0;  // elements from one of the batch to the next
  const std::uint16_t* b;     // [k, n], or [n, k] transposed
  int ldb;
  std::int64_t stride_b = 0;
  float* c;
  int ldc;
  std::int64_t stride_c = 0;
  int batch = 1;
};

// Work that starts as one. May outlive nothing that it works on but as long as it isn't started.
class Graph {
 public:
  virtual ~Graph() = default;
};

// One device: memory, one stream, events. All but the frees throw DeviceError.
class Runtime {
 public:
  explicit Runtime(int device_index);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  Stream stream() const;
  std::byte* allocate(std::size_t bytes);  // null: no room
  void free(std::byte* memory);
  std::byte* allocatePinned(std::size_t bytes);  // host memory that copies may read later; never null
  void freePinned(std::byte* memory);
  std::size_t freeBytes();

  // Enqueue. Host memory must stay as it is until then.
  void copyToDevice(std::byte* to, const std::byte* from, std::size_t bytes);
  void copyToHost(std::byte* to, const std::byte* from, std::size_t bytes);
  void copyOnDevice(std::byte* to, const std::byte* from, std::size_t bytes);
  void multiply(const Gemm& gemm);
  void checkLaunch();  // throws if the last launch was refused

  void synchronize();

  // Events, numbered from 0; made when first recorded.
  void record(int event);
  double millisecondsBetween(int first, int second);  // both must have happened

  // What is enqueued in between is not done, but kept.
  void beginCapture();
  std::unique_ptr<Graph> endCapture();  // throws if something in between could not be kept
  void start(Graph& graph);

  DeviceCeilings probe();

 private:
  struct Impl;
  std::unique_ptr<Impl> m_impl;
};

}  // namespace inferoscope::kernels::cuda
