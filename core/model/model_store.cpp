// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/model_store.h"

#include "core/error.h"
#include "core/model/gguf_model.h"
#include "core/model/synthetic.h"

#include <fmt/format.h>
#include <cstdlib>

namespace inferoscope::core {
namespace {

namespace fs = std::filesystem;

// The XDG rules: a folder that is not absolute counts as unset.
fs::path dataHome() {
  const auto absolute = [](const char* value) { return value && fs::path(value).is_absolute(); };
  if (const char* data = std::getenv("XDG_DATA_HOME"); absolute(data)) return data;
  if (const char* home = std::getenv("HOME"); absolute(home)) return fs::path(home) / ".local/share";
  return ".local/share";
}

std::shared_ptr<const Model> openModel(const std::string& source, Backend* backend, const LoadProgress& progress,
                                       std::stop_token stop) {
  if (source.empty()) throw Error("no model is named; name a GGUF file, default or synthetic:NAME");
  if (isSynthetic(source)) return makeSyntheticModel(source, backend, progress, std::move(stop));
  return loadGgufModel(modelFile(source), backend, progress, std::move(stop));
}

}  // namespace

std::shared_ptr<const Model> loadModel(const std::string& source, Backend& backend, const LoadProgress& progress,
                                       std::stop_token stop) {
  return openModel(source, &backend, progress, std::move(stop));
}

std::shared_ptr<const Model> describeModel(const std::string& source) {
  return openModel(source, nullptr, {}, {});
}

fs::path modelFile(const std::string& source) {
  if (source != "default") return source;
  if (std::error_code error; !fs::exists(defaultModelPath(), error)) {
    throw Error(fmt::format("{}: the default model is not there; fetch it with gui/run, or name a GGUF file or {}",
                            defaultModelPath().string(), kFallbackModel));
  }
  return defaultModelPath();
}

fs::path modelFolder() {
  return dataHome() / "inferoscope/models";
}

fs::path defaultModelPath() {
  return modelFolder() / "SmolLM2-135M-Instruct.Q4_1.gguf";
}

std::string startupModel() {
  std::error_code error;
  return fs::exists(defaultModelPath(), error) ? "default" : std::string(kFallbackModel);
}

}  // namespace inferoscope::core
