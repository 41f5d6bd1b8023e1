// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/gguf.h"

#include <filesystem>
#include <vector>

namespace inferoscope::core {

// One file, read and checked by itself.
struct GgufPart {
  InputFile file;
  GgufMetadata metadata;
  std::vector<GgufTensor> tensors;
};

GgufPart readGgufPart(const std::filesystem::path& path);

}  // namespace inferoscope::core
