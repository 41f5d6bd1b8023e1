// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/observe/limits.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace inferoscope::cli {

// {"read_gb_s", "cache_read_gb_s", "fp32_gflop_s", "f16_gflop_s", "int8_gop_s", "threads", "last_level_cache_bytes",
// "cache_reach_bytes"}
nlohmann::ordered_json ceilingsJson(const core::MachineLimits& limits);

// One line for people.
std::string ceilingsText(const core::MachineLimits& limits);

}  // namespace inferoscope::cli
