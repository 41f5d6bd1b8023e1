// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/verify/device_memory.h"

#include "kernels/interleave.h"

#include <stdexcept>

namespace inferoscope::core::verify {

kernels::WeightMatrix DeviceMemory::put(kernels::WeightMatrix w) {
  const std::span rows(w.data, static_cast<std::size_t>(kernels::matrixBytes(w)));
  const std::size_t offset = take(static_cast<std::size_t>(kernels::layoutBytes(w)));
  m_backend.uploadRows(*m_buffer, offset, w, 0, rows);
  w.data = m_buffer->data() + offset;
  return w;
}

std::size_t DeviceMemory::take(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  const std::size_t offset = (m_used_bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (offset + bytes > m_buffer->bytes()) throw std::length_error("a case needs more than its memory");
  m_used_bytes = offset + bytes;
  return offset;
}

}  // namespace inferoscope::core::verify
