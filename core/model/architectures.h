// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model_config.h"

#include <string>
#include <string_view>

namespace inferoscope::core {

// How one kind of transformer differs from the others in what forward() does.
struct Architecture {
  std::string_view name;  // general.architecture
  kernels::RopeStyle rope_style;
  bool qkv_bias;
  bool qk_norm;
};

const Architecture* findArchitecture(std::string_view name);  // null: it can't be run
std::string architectureNames();                              // "llama, qwen2, qwen3"

// Sets in config what the architecture decides.
void applyArchitecture(const Architecture& architecture, ModelConfig& config);

}  // namespace inferoscope::core
