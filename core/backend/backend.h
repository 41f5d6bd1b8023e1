// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/limits.h"
#include "kernels/catalog.h"
#include "kernels/kernel.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace inferoscope::core {

// Memory of a device; freed when the last holder lets go. May outlive the backend, never the backend's library.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual std::byte* data() = 0;  // an address of the device
  virtual std::size_t bytes() const = 0;
};

// A device that can run kernels: memory, execution context, timers, ceilings. One thread at a time.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view id() const = 0;  // "cpu"
  virtual std::string hardware() const;     // its name, for people: "Intel(R) Xeon(R) Processor, 2 cores"
  virtual kernels::Device device() const = 0;
  virtual kernels::Catalog catalog() const;  // what can run on it
  virtual int numThreads() const = 0;
  virtual void setThreads(int num_threads) = 0;  // 0 or less: one a core

  virtual std::size_t freeBytes() const { return 0; }  // that can still be had; 0: unknown
  // 64-byte aligned, contents zero on the CPU, undefined on other devices. Throws Error with what it was for, the bytes
  // needed and the bytes available.
  virtual std::shared_ptr<Buffer> allocate(std::size_t bytes, std::string_view what) = 0;
  virtual void upload(Buffer& to, std::size_t offset, std::span<const std::byte> from) = 0;
  // How this device's kernels want a matrix to lie, and rows of one, as files hold them, put in their places; first_row
  // and, but at the end, their number are multiples of kUploadRows.
  static constexpr int kUploadRows = 32;
  virtual kernels::Layout layoutFor(const kernels::WeightMatrix& w) const;
  virtual void uploadRows(Buffer& to, std::size_t offset, const kernels::WeightMatrix& w, int first_row,
                          std::span<const std::byte> rows);
  virtual void download(const Buffer& from, std::size_t offset, std::span<std::byte> to) = 0;

  // Context for the kernels of one step, with scratch of at least scratch_bytes.
  virtual kernels::Exec exec(std::size_t scratch_bytes, std::stop_token stop) = 0;

  // What kernels enqueue from here until something waits for it starts as one, where the device can do so: a CUDA
  // graph.
  virtual void beginGraph() {}

  // Time marks between ops. mark() is cheap; times() waits for the device and gives nanoseconds since the first mark.
  virtual void resetMarks() = 0;
  virtual void mark() = 0;
  virtual std::span<const std::int64_t> times() = 0;

  // Empty while the device works, else what broke it: then nothing on it can be used, and whoever opens it again starts
  // it anew. Waits for the device.
  virtual std::string failure() { return {}; }

  // Share of time in which the device was busy lately, as its driver reports it; none: it reports nothing.
  virtual std::optional<double> utilisation() { return std::nullopt; }

  // Measures the ceilings with the present number of threads; about a second. Throws Cancelled.
  virtual MachineLimits probe(std::stop_token stop) = 0;
};

// num_threads as in setThreads().
std::unique_ptr<Backend> makeCpuBackend(int num_threads);

}  // namespace inferoscope::core
