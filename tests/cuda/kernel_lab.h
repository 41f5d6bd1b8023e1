// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/module.h"
#include "kernels/kernel.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

// What a check of a kernel is made of.
namespace inferoscope::tests {

using kernels::cuda::Module;
using kernels::cuda::Queue;

// A module's kernels on one queue, with the device memory of one check.
class Lab {
 public:
  Lab(const Module& module, Queue& queue) : m_module(module), m_queue(queue) { m_queue.beginStep(); }
  ~Lab() {
    for (std::byte* memory : m_memory) m_queue.free(memory);
  }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  const Module& module() const { return m_module; }

  std::byte* room(std::size_t bytes) {
    m_memory.push_back(m_queue.allocate(bytes));
    if (m_memory.back() == nullptr) throw kernels::cuda::DeviceError("no memory for a check");
    return m_memory.back();
  }
  template <class T>
  T* put(std::span<const T> values) {
    std::byte* memory = room(values.size_bytes() + 64);
    m_queue.upload(memory, std::as_bytes(values));
    return reinterpret_cast<T*>(memory);
  }
  float* put(const std::vector<float>& values) { return put(std::span(values)); }
  // An output whose every element must be written: NaN before.
  float* output(std::size_t count) { return put(std::vector<float>(count, NAN)); }
  template <class T>
  std::vector<T> take(const T* from, std::size_t count) {
    std::vector<T> values(count);
    m_queue.download(std::as_writable_bytes(std::span(values)), reinterpret_cast<const std::byte*>(from));
    return std::vector<T>(values);  // a copy: what the download did not wait for must not come to it later
  }
  // A matrix as the module keeps it, handed over in uneven pieces as a file is.
  kernels::WeightMatrix putMatrix(const kernels::Format& format, const std::vector<std::byte>& blocks, int num_rows,
                                  int num_cols) {
    kernels::WeightMatrix w{room(blocks.size() + 64), format.id, num_rows, num_cols, m_module.layout(format.id)};
    struct Context {
      Lab* lab;
      std::byte* base;
    } context{this, const_cast<std::byte*>(w.data)};
    const std::size_t piece = 7 * static_cast<std::size_t>(format.block_bytes);
    for (std::size_t at = 0; at < blocks.size(); at += piece) {
      m_module.repack(
          w, static_cast<std::int64_t>(at) / format.block_bytes,
          std::span(blocks).subspan(at, std::min(piece, blocks.size() - at)),
          [](void* c, std::int64_t offset, std::span<const std::byte> bytes) {
            auto* to = static_cast<Context*>(c);
            to->lab->m_queue.upload(to->base + offset, bytes);
          },
          &context);
    }
    return w;
  }
  template <class Args>
  void run(const kernels::Kernel<Args>& kernel, const Args& args) {
    const std::size_t scratch_bytes = kernel.scratchBytes(args, 1);
    std::byte* scratch = scratch_bytes == 0 ? nullptr : room(scratch_bytes);
    kernel.run(args, {.pool = nullptr, .queue = &m_queue, .scratch = {scratch, scratch_bytes}, .stop = {}});
    m_queue.wait();
  }

 private:
  const Module& m_module;
  Queue& m_queue;
  std::vector<std::byte*> m_memory;
};

// What a kernel gave, and what it should have given.
struct Outcome {
  std::vector<float> got;
  std::vector<double> expected;
  double tolerance = 0.0;  // relative to 1 + |expected|

  double worstError() const {
    double worst = got.size() == expected.size() ? 0.0 : INFINITY;
    for (std::size_t i = 0; i < got.size() && i < expected.size(); ++i) {
      const double error = std::fabs(got[i] - expected[i]) / (1.0 + std::fabs(expected[i]));
      if (!(error <= worst)) worst = error;  // NaN counts
    }
    return worst;
  }
  bool holds() const { return worstError() <= tolerance; }
};

struct Check {
  std::string name;
  std::function<Outcome(Lab&)> run;
};

}  // namespace inferoscope::tests
