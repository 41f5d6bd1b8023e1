// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/architectures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <ranges>

namespace inferoscope::core {
namespace {

using kernels::RopeStyle;

constexpr std::array<Architecture, 3> kArchitectures{{
    {"llama", RopeStyle::kInterleaved, false, false},
    {"qwen2", RopeStyle::kHalves, true, false},
    {"qwen3", RopeStyle::kHalves, false, true},
}};

}  // namespace

const Architecture* findArchitecture(std::string_view name) {
  const auto found = std::ranges::find(kArchitectures, name, &Architecture::name);
  return found == kArchitectures.end() ? nullptr : &*found;
}

std::string architectureNames() {
  return fmt::format("{}", fmt::join(kArchitectures | std::views::transform(&Architecture::name), ", "));
}

void applyArchitecture(const Architecture& architecture, ModelConfig& config) {
  config.architecture = architecture.name;
  config.rope_style = architecture.rope_style;
  config.qkv_bias = architecture.qkv_bias;
  config.qk_norm = architecture.qk_norm;
}

}  // namespace inferoscope::core
