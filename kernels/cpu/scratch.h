// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>

namespace inferoscope::kernels::cpu {

// Cuts scratch memory into arrays, each on its own cache lines. Started at null it only counts, so that a kernel's
// scratchBytes and run share one description of its arrays.
class Scratch {
 public:
  explicit Scratch(std::byte* begin) : m_begin(begin) {}

  template <class T>
  T* take(std::int64_t count) {
    std::byte* array = m_begin == nullptr ? nullptr : m_begin + m_used;
    m_used += (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return reinterpret_cast<T*>(array);
  }

  std::size_t usedBytes() const { return m_used; }

 private:
  std::byte* m_begin;
  std::size_t m_used = 0;
};

}  // namespace inferoscope::kernels::cpu
