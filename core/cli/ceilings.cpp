// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cli/ceilings.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace inferoscope::cli {

nlohmann::ordered_json ceilingsJson(const core::MachineLimits& limits) {
  return {{"read_gb_s", limits.read_bytes_per_s * 1e-9},
          {"cache_read_gb_s", limits.cache_read_bytes_per_s * 1e-9},
          {"fp32_gflop_s", limits.fp32_flop_per_s * 1e-9},
          {"int8_gop_s", limits.int8_op_per_s * 1e-9},
          {"threads", limits.num_threads},
          {"last_level_cache_bytes", limits.last_level_cache_bytes},
          {"cache_reach_bytes", limits.cache_reach_bytes}};
}

std::string ceilingsText(const core::MachineLimits& limits) {
  return fmt::format("{} threads: memory {:.1f} GB/s, cache {:.1f} GB/s, fp32 {:.0f} GFLOP/s, int8 {:.0f} GOP/s",
                     limits.num_threads, limits.read_bytes_per_s * 1e-9, limits.cache_read_bytes_per_s * 1e-9,
                     limits.fp32_flop_per_s * 1e-9, limits.int8_op_per_s * 1e-9);
}

}  // namespace inferoscope::cli
