// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace inferoscope::core {

// Byte-level vocabularies write each byte of a token as one printable character: the printable ones of Latin-1 stand
// for themselves, the other 68 for U+0100, U+0101, ... in order.
class ByteText {
 public:
  ByteText();
  std::string_view character(unsigned char byte) const { return m_characters[byte]; }
  std::string fromBytes(std::string_view bytes) const;
  std::string toBytes(std::string_view text) const;  // characters that stand for no byte stay as they are

 private:
  std::array<std::string, 256> m_characters;
  std::array<int, 0x144> m_bytes;  // code point -> byte, -1: none
};

}  // namespace inferoscope::core
