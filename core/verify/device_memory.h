// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/backend/backend.h"

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace inferoscope::core::verify {

// One piece of a device's memory, cut into the arrays of a case and used again for the next.
class DeviceMemory {
 public:
  DeviceMemory(Backend& backend, std::size_t bytes)
      : m_backend(backend), m_buffer(backend.allocate(bytes, "the arrays that kernels are verified on")) {}

  void clear() { m_used_bytes = 0; }

  // A copy of the values on the device. Throws std::length_error if it does not fit.
  template <class T>
  T* put(std::span<const T> values) {
    const std::size_t offset = take(values.size_bytes());
    m_backend.upload(*m_buffer, offset, std::as_bytes(values));
    return reinterpret_cast<T*>(m_buffer->data() + offset);
  }
  template <class T>
  T* put(const std::vector<T>& values) {
    return put(std::span<const T>(values));
  }

  // A matrix in host memory, stored as rows, in its layout on the device.
  kernels::WeightMatrix put(kernels::WeightMatrix w);

  template <class T>
  std::vector<T> get(const T* from, std::size_t count) const {
    std::vector<T> values(count);
    const auto offset = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(from) - m_buffer->data());
    m_backend.download(*m_buffer, offset, std::as_writable_bytes(std::span(values)));
    return values;
  }

 private:
  std::size_t take(std::size_t bytes);

  Backend& m_backend;
  std::shared_ptr<Buffer> m_buffer;
  std::size_t m_used_bytes = 0;
};

}  // namespace inferoscope::core::verify
