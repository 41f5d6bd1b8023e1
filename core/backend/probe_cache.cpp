// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/probe_cache.h"

#include "core/error.h"
#include "core/output_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace inferoscope::core {
namespace {

using nlohmann::json;

constexpr const char* kVersion = "3";           // of the probe: another way to measure is another number
constexpr std::int64_t kMostAgeSeconds = 3600;  // shared machines drift

std::int64_t nowUnixSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// What the ceilings depend on beside the number of threads: "cpu: Intel(R) Xeon(R) Processor, 2 cores".
std::string machineName(const Backend& backend) {
  return fmt::format("{}: {}", backend.id(), backend.hardware());
}

std::string threadsKey(const Backend& backend) {
  return std::to_string(backend.numThreads());
}

json toJson(const MachineLimits& limits) {
  return {{"read_bytes_per_s", limits.read_bytes_per_s},   {"cache_read_bytes_per_s", limits.cache_read_bytes_per_s},
          {"fp32_flop_per_s", limits.fp32_flop_per_s},     {"f16_flop_per_s", limits.f16_flop_per_s},
          {"int8_op_per_s", limits.int8_op_per_s},         {"last_level_cache_bytes", limits.last_level_cache_bytes},
          {"cache_reach_bytes", limits.cache_reach_bytes}, {"measured_at_unix_s", limits.measured_at_unix_s}};
}

double rate(const json& kept, const char* key) {
  const auto value = kept.at(key).get<double>();
  return std::isfinite(value) && value > 0 ? value : 0.0;
}

MachineLimits fromJson(const json& kept, int num_threads) {
  return {.read_bytes_per_s = rate(kept, "read_bytes_per_s"),
          .cache_read_bytes_per_s = rate(kept, "cache_read_bytes_per_s"),
          .fp32_flop_per_s = rate(kept, "fp32_flop_per_s"),
          .f16_flop_per_s = rate(kept, "f16_flop_per_s"),
          .int8_op_per_s = rate(kept, "int8_op_per_s"),
          .num_threads = num_threads,
          .last_level_cache_bytes = kept.at("last_level_cache_bytes").get<std::int64_t>(),
          .cache_reach_bytes = kept.at("cache_reach_bytes").get<std::int64_t>(),
          .measured_at_unix_s = kept.at("measured_at_unix_s").get<std::int64_t>()};
}

// An empty object if there is no such file or it is broken.
json readFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  json kept = json::parse(file, nullptr, false);
  return kept.is_object() ? kept : json::object();
}

json& objectAt(json& parent, const std::string& key) {
  json& child = parent[key];
  if (!child.is_object()) child = json::object();
  return child;
}

// Where it can't be written there is no cache.
void replaceFile(const std::filesystem::path& path, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  try {
    OutputFile file(path, path.string(), text.size());
    file.write(std::as_bytes(std::span(text)));
    file.commit();
  } catch (const Error&) {  // shown nowhere: the ceilings are probed anew the next time
  }
}

}  // namespace

std::filesystem::path probeCacheFile() {
  std::filesystem::path folder;
  // The XDG rules: a folder that is not absolute counts as unset.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    folder = cache;
  } else if (const char* home = std::getenv("HOME"); home != nullptr) {
    folder = std::filesystem::path(home) / ".cache";
  }
  return folder / "inferoscope" / "probes.json";
}

std::optional<MachineLimits> keptLimits(const std::filesystem::path& file, const Backend& backend) {
  try {
    const json kept = readFile(file).at(kVersion).at(machineName(backend)).at(threadsKey(backend));
    const MachineLimits limits = fromJson(kept, backend.numThreads());
    const std::int64_t age = nowUnixSeconds() - limits.measured_at_unix_s;
    const bool usable = limits.measured() && age >= 0 && age <= kMostAgeSeconds;
    return usable ? std::optional(limits) : std::nullopt;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

void keepLimits(const std::filesystem::path& file, const Backend& backend, const MachineLimits& limits) {
  if (!limits.measured()) return;
  json kept = readFile(file);
  objectAt(objectAt(kept, kVersion), machineName(backend))[threadsKey(backend)] = toJson(limits);
  replaceFile(file, kept.dump(1, ' ', false, json::error_handler_t::replace));
}

MachineLimits limitsFor(Backend& backend, std::stop_token stop) {
  const std::optional<MachineLimits> kept = keptLimits(probeCacheFile(), backend);
  return kept ? *kept : probeAndKeep(backend, std::move(stop));
}

MachineLimits probeAndKeep(Backend& backend, std::stop_token stop) {
  const MachineLimits limits = backend.probe(std::move(stop));
  keepLimits(probeCacheFile(), backend, limits);
  return limits;
}

}  // namespace inferoscope::core
