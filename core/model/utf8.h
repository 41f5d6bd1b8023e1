// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace inferoscope::core {

enum class Utf8Kind : std::uint8_t {
  kValid,       // one character
  kInvalid,     // a maximal subpart (Unicode, table 3-7): the bytes that one U+FFFD stands for
  kUnfinished,  // the text ends inside a character that could still become valid
};

struct Utf8Step {
  Utf8Kind kind;
  std::size_t length;  // bytes, at least 1
};

// The first character of `bytes`, which must not be empty.
Utf8Step nextUtf8(std::string_view bytes);

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// A name from a file as a message may show it: one line, not too long, never broken UTF-8.
std::string shown(std::string_view bytes, std::size_t max_bytes = 80);

}  // namespace inferoscope::core
