// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/preset.h"

#include "core/engine/knobs.h"
#include "core/engine/resources.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

namespace inferoscope::core {
namespace {

using nlohmann::json;

constexpr int kLookedAt = 32;  // requests, to tell how long prompts are

Preset readPreset(const json& object) {
  const json needs = object.value("needs", json::object());
  return {.id = object.at("id"),
          .title = object.value("title", ""),
          .explanation = object.value("explanation", ""),
          .scenario = object.value("scenario", "chat"),
          .model = object.value("model", ""),
          .num_requests = object.value("requests", 16),
          .a = object.value("a", std::map<std::string, std::string>()),
          .b = object.value("b", std::map<std::string, std::string>()),
          .min_weights_over_cache = needs.value("weights_over_cache", 0.0),
          .formats = needs.value("formats", std::vector<std::string>()),
          .min_prompt_tokens = needs.value("prompt_tokens", 0),
          .min_concurrency = needs.value("concurrency", 0)};
}

// The one most bytes are stored in.
std::string mainFormat(const Model& model) {
  const auto most = std::ranges::max_element(model.format_bytes, {}, [](const auto& entry) { return entry.second; });
  return most == model.format_bytes.end() ? "" : most->first;
}

double meanPromptTokens(const Scenario& scenario, const std::shared_ptr<const Model>& model) {
  Workload workload(scenario, model);
  double sum = 0;
  int count = 0;
  for (; count < kLookedAt; ++count) {
    const auto request = workload.take(std::numeric_limits<std::int64_t>::max());
    if (!request) break;
    sum += static_cast<double>(request->prompt.size());
    workload.answered(0);
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace

std::vector<Preset> builtinPresets() {
  const std::filesystem::path file = resourceFolder() / "presets.json";
  std::ifstream stream(file);
  try {
    std::vector<Preset> presets;
    for (const json& object : json::parse(stream)) presets.push_back(readPreset(object));
    return presets;
  } catch (const json::exception& error) {
    throw Error(fmt::format("{}: {}", file.string(), error.what()));
  }
}

Preset findPreset(const std::string& id) {
  std::vector<std::string> ids;
  for (Preset& preset : builtinPresets()) {
    if (preset.id == id) return std::move(preset);
    ids.push_back(preset.id);
  }
  throw Error(fmt::format("--preset: \"{}\" is not one of {}", id, fmt::join(ids, ", ")));
}

EngineOptions withKnobs(EngineOptions options, const std::map<std::string, std::string>& knobs) {
  for (const auto& [id, value] : knobs) {
    if (const std::string wrong = setKnob(options, id, value); !wrong.empty()) throw Error(wrong);
  }
  return options;
}

std::vector<std::string> presetNotices(const Preset& preset, const std::shared_ptr<const Model>& model,
                                       const Scenario& scenario, const MachineLimits& limits) {
  std::vector<std::string> notices;
  const double cache = static_cast<double>(std::max(limits.cache_reach_bytes, limits.last_level_cache_bytes));
  const auto weights = static_cast<double>(model->weight_bytes);
  if (cache > 0 && weights < preset.min_weights_over_cache * cache) {
    notices.push_back(fmt::format(
        "the weights are {:.0f} MB, less than {:g} times this machine's cache of {:.0f} MB: part of them is read from "
        "there, and the difference is smaller than with a larger model",
        weights * 1e-6, preset.min_weights_over_cache, cache * 1e-6));
  }
  const std::string format = mainFormat(*model);
  if (!preset.formats.empty() && std::ranges::find(preset.formats, format) == preset.formats.end()) {
    notices.push_back(fmt::format("most weights are stored as {}; the difference shows best in {}", format,
                                  fmt::join(preset.formats, " or ")));
  }
  if (const double mean = meanPromptTokens(scenario, model); mean < preset.min_prompt_tokens) {
    notices.push_back(fmt::format("prompts have {:.0f} tokens on average; the difference shows from {} on", mean,
                                  preset.min_prompt_tokens));
  }
  const bool closed = scenario.arrivals.kind == ArrivalKind::kClosedLoop;
  if (closed && scenario.arrivals.concurrency < preset.min_concurrency) {
    notices.push_back(fmt::format("{} users ask at once; the difference shows from {} on",
                                  scenario.arrivals.concurrency, preset.min_concurrency));
  }
  return notices;
}

}  // namespace inferoscope::core
