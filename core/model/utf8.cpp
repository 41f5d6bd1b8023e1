// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/utf8.h"

#include <fmt/format.h>

namespace inferoscope::core {
namespace {

// What may follow a lead byte: the range of the second byte, and how many bytes a character has (0: no lead byte).
struct Lead {
  std::size_t length = 0;
  unsigned char second_min = 0x80;
  unsigned char second_max = 0xBF;
};

Lead leadOf(unsigned char byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};  // no overlong forms
  if (byte == 0xED) return {3, 0x80, 0x9F};  // no surrogates
  if (byte >= 0xE1 && byte <= 0xEF) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};  // up to U+10FFFF
  return {};
}

}  // namespace

Utf8Step nextUtf8(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  if (first < 0x80) return {Utf8Kind::kValid, 1};
  const Lead lead = leadOf(first);
  if (lead.length == 0) return {Utf8Kind::kInvalid, 1};
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (i == bytes.size()) return {Utf8Kind::kUnfinished, i};
    const auto byte = static_cast<unsigned char>(bytes[i]);
    const bool fits = i == 1 ? byte >= lead.second_min && byte <= lead.second_max : byte >= 0x80 && byte <= 0xBF;
    if (!fits) return {Utf8Kind::kInvalid, i};
  }
  return {Utf8Kind::kValid, lead.length};
}

std::string shown(std::string_view bytes, std::size_t max_bytes) {
  std::string text;
  while (!bytes.empty() && text.size() < max_bytes) {
    const Utf8Step step = nextUtf8(bytes);
    const auto first = static_cast<unsigned char>(bytes[0]);
    if (step.kind == Utf8Kind::kValid && first >= 0x20 && first != 0x7F) {
      text += bytes.substr(0, step.length);
    } else {
      for (const char byte : bytes.substr(0, step.length)) {
        text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      }
    }
    bytes.remove_prefix(step.length);
  }
  return bytes.empty() ? text : text + "...";
}

}  // namespace inferoscope::core
