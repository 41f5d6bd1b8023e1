// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model_store.h"

#include <filesystem>
#include <memory>
#include <stop_token>

namespace inferoscope::core {

// A model from a GGUF file. Without a backend it is only described: all of it but the weights.
std::shared_ptr<const Model> loadGgufModel(const std::filesystem::path& path, Backend* backend,
                                           const LoadProgress& progress, std::stop_token stop);

}  // namespace inferoscope::core
