// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/byte_text.h"

namespace inferoscope::core {
namespace {

bool standsForItself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

std::string utf8OfSmall(int code_point) {  // below U+0800
  if (code_point < 0x80) return std::string(1, static_cast<char>(code_point));
  return {static_cast<char>(0xC0 | (code_point >> 6)), static_cast<char>(0x80 | (code_point & 0x3F))};
}

}  // namespace

ByteText::ByteText() {
  m_bytes.fill(-1);
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const int code_point = standsForItself(byte) ? byte : next++;
    m_characters[static_cast<std::size_t>(byte)] = utf8OfSmall(code_point);
    m_bytes[static_cast<std::size_t>(code_point)] = byte;
  }
}

std::string ByteText::fromBytes(std::string_view bytes) const {
  std::string text;
  for (const char byte : bytes) text += character(static_cast<unsigned char>(byte));
  return text;
}

std::string ByteText::toBytes(std::string_view text) const {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    std::size_t code_point = first;
    if (first >= 0xC2 && first <= 0xDF && i + 1 < text.size()) {
      code_point = (first & 0x1FU) << 6U | (static_cast<unsigned char>(text[i + 1]) & 0x3FU);
    } else if (first >= 0x80) {
      code_point = m_bytes.size();  // none of ours
    }
    const int byte = code_point < m_bytes.size() ? m_bytes[code_point] : -1;
    if (byte < 0) {
      bytes += text[i];
    } else {
      bytes += static_cast<char>(byte);
      if (first >= 0x80) ++i;
    }
  }
  return bytes;
}

}  // namespace inferoscope::core
