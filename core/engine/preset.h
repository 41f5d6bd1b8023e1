// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/workload.h"
#include "core/model/model.h"
#include "core/observe/limits.h"

#include <map>
#include <string>
#include <vector>

namespace inferoscope::core {

// Two settings worth comparing, with the work on which this kind of machine shows the difference.
// resources/presets.json is the list of them; every field but `id` may be left out.
struct Preset {
  std::string id;       // "paged-contiguous"
  std::string title{};  // "Pages against contiguous memory"
  std::string explanation{};
  std::string scenario{};                  // id
  std::string model{};                     // empty: whatever is loaded
  int num_requests = 16;                   // of a scenario without end
  std::map<std::string, std::string> a{};  // knobs on top of the scenario's
  std::map<std::string, std::string> b{};

  // What the effect needs to be seen; 0 or empty: nothing.
  double min_weights_over_cache = 0;   // weight bytes over the largest cache
  std::vector<std::string> formats{};  // of most of the weights
  int min_prompt_tokens = 0;           // mean
  int min_concurrency = 0;
};

std::vector<Preset> builtinPresets();
// Throws Error that names those that exist.
Preset findPreset(const std::string& id);

EngineOptions withKnobs(EngineOptions options, const std::map<std::string, std::string>& knobs);  // throws Error

// Why the effect may not show with this model and scenario, a sentence each; empty: it should. limits may be
// unmeasured.
std::vector<std::string> presetNotices(const Preset& preset, const std::shared_ptr<const Model>& model,
                                       const Scenario& scenario, const MachineLimits& limits);

}  // namespace inferoscope::core
