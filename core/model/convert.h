// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model_store.h"
#include "kernels/format.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

namespace inferoscope::core {

struct Conversion {
  std::uint64_t file_bytes = 0;
  std::map<std::string, std::int64_t> format_bytes;  // stored bytes by format name
  std::vector<std::string> notices;                  // matrices that another format had to hold
};

// Writes a model as one GGUF file with its matrices in `format`; norms and other vectors are f32, and all metadata is
// kept. The file appears when it is whole. Memory does not grow with the model, unless it is a synthetic one.
// Throws Error or Cancelled, and then leaves nothing behind.
Conversion convertModel(const std::string& source, const std::filesystem::path& out, const kernels::Format& format,
                        const LoadProgress& progress, std::stop_token stop);

}  // namespace inferoscope::core
