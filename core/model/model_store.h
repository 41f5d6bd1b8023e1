// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/backend/backend.h"
#include "core/model/model.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

namespace inferoscope::core {

// stage: "reading the header", "copying weights"; fraction 0..1 over the whole load.
using LoadProgress = std::function<void(std::string_view stage, double fraction)>;

// Where models come from: a GGUF file, `default`, or `synthetic:NAME[:FORMAT]`.
// Throws Error (what is wrong, with the file's name) or Cancelled; a failed load leaves no memory behind.
std::shared_ptr<const Model> loadModel(const std::string& source, Backend& backend, const LoadProgress& progress,
                                       std::stop_token stop);

// As loadModel(), but without the weights (their pointers are null): for those who only describe or tokenize.
std::shared_ptr<const Model> describeModel(const std::string& source);

// The GGUF file that a source names, if it is not a synthetic one; Error where `default` is not there.
std::filesystem::path modelFile(const std::string& source);

inline constexpr std::string_view kFallbackModel = "synthetic:smollm2-135m";

// $XDG_DATA_HOME/inferoscope/models
std::filesystem::path modelFolder();

// The file that `default` stands for; need not exist.
std::filesystem::path defaultModelPath();

// What to open where nothing was asked for: `default` if its file exists, else kFallbackModel.
std::string startupModel();

}  // namespace inferoscope::core
