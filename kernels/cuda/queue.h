// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/module.h"
#include "kernels/cuda/runtime.h"

#include <cstdint>
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

  // For kernels.
  Stream stream() const { return m_runtime.stream(); }
  Runtime& runtime() { return m_runtime; }

  // Index arrays of a step lie in host memory, where costs and launches read them. A device copy, made once a step;
  // `values` must not change until the step ends.
  template <class T>
  const T* onDevice(const T* values, std::int64_t count) {
    return reinterpret_cast<const T*>(copyOf(std::as_bytes(std::span(values, static_cast<std::size_t>(count)))));
  }
  // A device copy of what a launch made up for itself.
  template <class T>
  const T* stage(const std::vector<T>& values) {
    return reinterpret_cast<const T*>(staged(std::as_bytes(std::span(values))));
  }

 private:
  struct Copy {
    const std::byte* host;
    std::size_t bytes;
    std::byte* device;
  };
  struct Arena {  // host and device memory of one size, filled from the front
    std::byte* host;
    std::byte* device;
    std::size_t bytes;
    std::size_t used;
  };

  bool endGraph();
  const std::byte* copyOf(std::span<const std::byte> values);
  std::byte* staged(std::span<const std::byte> values);
  Arena& arenaFor(std::size_t bytes);
  void freeArenas();

  Runtime m_runtime;
  std::vector<Arena> m_arenas;
  std::vector<Copy> m_copies;
  int m_num_marks = 0;
  bool m_in_graph = false;
};

}  // namespace inferoscope::kernels::cuda
