// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cli/ceilings.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

namespace inferoscope::cli {

nlohmann::ordered_json ceilingsJson(const core::MachineLimits& limits) {
  return {{"read_gb_s", limits.read_bytes_per_s * 1e-9},
          {"cache_read_gb_s", limits.cache_read_bytes_per_s * 1e-9},
          {"fp32_gflop_s", limits.fp32_flop_per_s * 1e-9},
          {"f16_gflop_s", limits.f16_flop_per_s * 1e-9},
          {"int8_gop_s", limits.int8_op_per_s * 1e-9},
          {"threads", limits.num_threads},
          {"last_level_cache_bytes", limits.last_level_cache_bytes},
          {"cache_reach_bytes", limits.cache_reach_bytes}};
}

std::string ceilingsText(const core::MachineLimits& limits) {
  std::string text = fmt::format("{} threads: memory {:.1f} GB/s", limits.num_threads, limits.read_bytes_per_s * 1e-9);
  const auto add = [&](std::string_view name, double per_s, std::string_view unit) {
    if (per_s > 0) text += fmt::format(", {} {:.{}f} {}", name, per_s * 1e-9, unit == "GB/s" ? 1 : 0, unit);
  };
  add("cache", limits.cache_read_bytes_per_s, "GB/s");
  add("fp32", limits.fp32_flop_per_s, "GFLOP/s");
  add("f16 in matrix units", limits.f16_flop_per_s, "GFLOP/s");
  add("int8", limits.int8_op_per_s, "GOP/s");
  return text;
}

}  // namespace inferoscope::cli
