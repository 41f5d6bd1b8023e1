// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <string_view>

namespace inferoscope::tests {

// A file of tests/data: dataPath("valid/valid_tiny.gguf").
inline std::string dataPath(std::string_view name) {
  return std::string(INFEROSCOPE_SOURCE_DIR "/tests/data/").append(name);
}

}  // namespace inferoscope::tests
