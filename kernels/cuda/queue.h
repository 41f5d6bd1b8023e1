// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/module.h"
#include "kernels/cuda/recording.h"
#include "kernels/cuda/runtime.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace inferoscope::kernels::cuda {

// The Queue that kernels of this module run on.
class DeviceQueue : public Queue {
 public:
  explicit DeviceQueue(int device_index);
  ~DeviceQueue() override;

  static DeviceQueue& of(const Exec& exec) { return static_cast<DeviceQueue&>(*exec.queue); }

  std::byte* allocate(std::size_t bytes) override;
  void free(std::byte* memory) override;
  std::size_t freeBytes() override { return m_runtime.freeBytes(); }
  void upload(std::byte* to, std::span<const std::byte> from) override;
  void download(std::span<std::byte> to, const std::byte* from) override;
  void wait() override;
  void beginStep() override;
  void mark() override;
  std::vector<std::int64_t> times() override;
  void beginGraph() override;
  DeviceCeilings probe() override { return m_runtime.probe(); }

  // For tests.
  Stream stream() const { return m_runtime.stream(); }

  // For kernels: enqueued, or recorded within a graph.
  template <class... Params, class... Args>
  void launch(void (*kernel)(Params...), Dim3 grid, Dim3 block, std::size_t shared_bytes, Args... args) {
    enqueue(
        [=, this] {
          cuda::launch(kernel, grid, block, shared_bytes, stream(), static_cast<Params>(args)...);
          m_runtime.checkLaunch();
        },
        kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes, static_cast<Params>(args)...);
  }
  void multiply(const Gemm& gemm);

  // Index arrays of a step lie in host memory, where costs and launches read them. A device copy, made once a step;
  // `values` must not change until the step ends.
  template <class T>
  const T* onDevice(const T* values, std::int64_t count) {
    return onDevice(values, 1, count, count);
  }
  // The same of a matrix, its rows further apart: an address and a distance that stay while rows grow a little.
  template <class T>
  const T* onDevice(const T* values, std::int64_t num_rows, std::int64_t num_cols, std::int64_t distance) {
    const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(T); };
    return reinterpret_cast<const T*>(copyOf({reinterpret_cast<const std::byte*>(values),
                                              static_cast<std::size_t>(num_rows), bytes(num_cols), bytes(distance)}));
  }
  // A device copy of what a launch made up for itself.
  template <class T>
  const T* stage(const std::vector<T>& values) {
    const std::size_t bytes = values.size() * sizeof(T);
    return reinterpret_cast<const T*>(staged({reinterpret_cast<const std::byte*>(values.data()), 1, bytes, bytes}));
  }

 private:
  struct HostRows {
    const std::byte* values;
    std::size_t num_rows;
    std::size_t bytes;     // of a row
    std::size_t distance;  // in bytes, on the device
    friend bool operator==(const HostRows&, const HostRows&) = default;
  };
  struct Copy {
    HostRows host;
    std::byte* device;
  };
  struct Arena {  // host and device memory of one size, filled from the front
    std::byte* host;
    std::byte* device;
    std::size_t bytes;
    std::size_t used;
  };

  struct KnownGraph {
    std::vector<std::byte> key;
    std::unique_ptr<Graph> graph;  // none before the work comes a second time
  };

  template <class Work, class... Values>
  void enqueue(const Work& work, const Values&... values) {
    if (!m_recording) return work();
    m_recording->add(work, values...);
  }
  bool endGraph();
  std::unique_ptr<Graph> capture(const Recording& recording);
  const std::byte* copyOf(const HostRows& host);
  std::byte* staged(const HostRows& host);
  Arena& arenaFor(std::size_t bytes);
  void freeArenas();

  Runtime m_runtime;
  std::vector<Arena> m_arenas;
  std::vector<Copy> m_copies;
  int m_num_marks = 0;
  std::optional<Recording> m_recording;
  std::vector<KnownGraph> m_graphs;  // the one used last is last
};

}  // namespace inferoscope::kernels::cuda
