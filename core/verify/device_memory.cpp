// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/verify/device_memory.h"

#include <stdexcept>

namespace inferoscope::core::verify {

std::size_t DeviceMemory::take(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  const std::size_t offset = (m_used_bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (offset + bytes > m_buffer->bytes()) throw std::length_error("a case needs more than its memory");
  m_used_bytes = offset + bytes;
  return offset;
}

}  // namespace inferoscope::core::verify
