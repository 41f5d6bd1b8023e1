// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/catalog.h"
#include "kernels/kernel.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

// The face of the CUDA module and of its emulation: libraries opened at run time. No CUDA here.
namespace inferoscope::kernels::cuda {

// A device that refused or broke, in the words of CUDA. What was enqueued is lost.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct DeviceInfo {
  std::string name;
  std::size_t total_bytes = 0;
  int compute_major = 0;  // 9.0: Hopper
  int compute_minor = 0;
  int num_processors = 0;  // streaming multiprocessors
  std::string pci_bus_id;  // as the driver's own tools name it, "0000:01:00.0"; empty: none
};

// Ceilings as measured on the device.
struct DeviceCeilings {
  double copy_bytes_per_s = 0;  // read and written, far past the caches
  double half_flop_per_s = 0;   // cuBLAS, half in, float sums
};

// One device's memory and its stream of work. Calls enqueue; upload, download and wait let all that was enqueued
// happen first. One thread at a time. All but free() throw DeviceError.
class Queue {
 public:
  virtual ~Queue() = default;

  virtual std::byte* allocate(std::size_t bytes) = 0;  // 256-byte aligned, contents undefined; null: no room
  virtual void free(std::byte* memory) = 0;
  virtual std::size_t freeBytes() = 0;
  virtual void upload(std::byte* to, std::span<const std::byte> from) = 0;
  virtual void download(std::span<std::byte> to, const std::byte* from) = 0;
  virtual void wait() = 0;

  // Between the ops of a step. A new step forgets the copies of index arrays and the marks.
  virtual void beginStep() = 0;
  virtual void mark() = 0;
  virtual std::vector<std::int64_t> times() = 0;  // of the marks, in ns since the first; waits

  // What is enqueued from here until something waits starts as one graph: no gaps of launching between kernels. A
  // graph is made when the same work comes a second time, and then kept: the same kernels, sizes and addresses.
  // Contents of index arrays may differ, as they lie on the device.
  virtual void beginGraph() = 0;

  virtual DeviceCeilings probe() = 0;
};

struct Module {
  int abi_version;
  Device device;  // kCuda or kCudaEmulation

  // Empty where there is no usable device, and then `why` says for a person why not.
  std::vector<DeviceInfo> (*devices)(std::string& why);
  std::unique_ptr<Queue> (*open)(int device_index);

  // Layout::kPlanes where its kernels want a matrix of that format so, else kRows.
  Layout (*layout)(FormatId format);

  // Quantized matrices are kept as planes: all quants, then all scales, so that every load is whole and aligned. Same
  // bytes as stored. Calls write(offset in the matrix, bytes) for num_blocks blocks from first_block on.
  void (*repack)(const WeightMatrix& shape, std::int64_t first_block, std::span<const std::byte> blocks,
                 void (*write)(void* context, std::int64_t offset, std::span<const std::byte> bytes), void* context);

  Catalog catalog;
};

inline constexpr int kModuleAbiVersion = 2;

// The one symbol of the library.
inline constexpr const char* kModuleSymbol = "inferoscopeCudaModule";

}  // namespace inferoscope::kernels::cuda

extern "C" const inferoscope::kernels::cuda::Module* inferoscopeCudaModule();
