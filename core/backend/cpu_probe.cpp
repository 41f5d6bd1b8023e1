// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/cpu_probe.h"

#include "core/backend/huge_memory.h"
#include "core/error.h"
#include "kernels/cpu/probe.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <span>
#include <string>

namespace inferoscope::core {
namespace {

constexpr int kPasses = 5;
constexpr int kMostPasses = 50;
constexpr std::size_t kBytesOfPasses = std::size_t{256} << 20;  // a short stream is read more often
constexpr std::size_t kFarBytes = std::size_t{1} << 30;         // past the caches of any machine of today
constexpr std::size_t kNearBytesPerThread = std::size_t{1} << 20;
constexpr int kRateMilliseconds = 30;
constexpr double kFasterThanMemory = 1.5;  // well above the drift of a shared machine

template <class Measure>
double bestOf(int num_passes, const std::stop_token& stop, Measure measure) {
  double best = 0;
  for (int pass = 0; pass < num_passes; ++pass) {
    best = std::max(best, measure());
    if (stop.stop_requested()) throw Cancelled();
  }
  return best;
}

// The largest cache that the system reports; 0 if it does not.
std::int64_t lastLevelCacheBytes() {
  std::int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    std::int64_t size = 0;
    char unit = 0;
    if (!(file >> size)) break;
    file >> unit;
    if (unit == 'K') size <<= 10;
    if (unit == 'M') size <<= 20;
    largest = std::max(largest, size);
  }
  return largest;
}

// A quarter of what is free at most, so that the probe never drives others out; but well past the cache, or it would
// measure that.
std::size_t farBytes(std::int64_t cache_bytes) {
  const std::size_t available = availableMemory();
  const std::size_t fitting = available == 0 ? kFarBytes : std::min(kFarBytes, available / 4 / 4096 * 4096);
  return std::max(fitting, 2 * static_cast<std::size_t>(cache_bytes));
}

// Touched once, or all pages would be the same zero page.
void touch(kernels::cpu::Pool& pool, std::span<std::byte> memory, const std::stop_token& stop) {
  constexpr std::size_t kStripe = std::size_t{16} << 20;
  const auto num_stripes = static_cast<int>((memory.size() + kStripe - 1) / kStripe);
  pool.parallelFor(num_stripes, stop, [&](int stripe, int) {
    const std::size_t begin = static_cast<std::size_t>(stripe) * kStripe;
    std::memset(memory.data() + begin, 1, std::min(kStripe, memory.size() - begin));
  });
  if (stop.stop_requested()) throw Cancelled();
}

// The largest power of two of bytes that a cache keeps between two reads of all of them: what a system reports may be
// shared with others, or split among them.
std::size_t cacheReach(std::size_t largest, double memory_rate, const std::function<double(std::size_t)>& read_rate) {
  std::size_t reach = 0;
  for (std::size_t bytes = std::size_t{1} << 20; bytes <= largest; bytes *= 2) {
    if (read_rate(bytes) < kFasterThanMemory * memory_rate) break;
    reach = bytes;
  }
  return reach;
}

}  // namespace

MachineLimits probeCpu(kernels::cpu::Pool& pool, const std::stop_token& stop) {
  namespace cpu = kernels::cpu;
  MachineLimits limits;
  limits.num_threads = pool.numThreads();
  limits.last_level_cache_bytes = lastLevelCacheBytes();

  const auto far = allocateHuge(farBytes(limits.last_level_cache_bytes), "the bandwidth probe");
  touch(pool, {far->data(), far->bytes()}, stop);
  // The first of the passes over little memory brings it into the cache.
  const auto read_rate = [&](std::size_t bytes) {
    const int num_passes = std::clamp(static_cast<int>(kBytesOfPasses / bytes), kPasses, kMostPasses);
    return bestOf(num_passes, stop, [&] { return cpu::readBandwidth(pool, {far->data(), bytes}, stop); });
  };
  limits.read_bytes_per_s = read_rate(far->bytes());
  limits.cache_read_bytes_per_s =
      read_rate(std::min(far->bytes(), kNearBytesPerThread * static_cast<std::size_t>(pool.numThreads())));
  limits.cache_reach_bytes =
      static_cast<std::int64_t>(cacheReach(far->bytes() / 2, limits.read_bytes_per_s, read_rate));

  limits.fp32_flop_per_s = bestOf(kPasses, stop, [&] { return cpu::fp32Rate(pool, kRateMilliseconds, stop); });
  limits.int8_op_per_s = bestOf(kPasses, stop, [&] { return cpu::int8DotRate(pool, kRateMilliseconds, stop); });
  limits.measured_at_unix_s =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  return limits;
}

}  // namespace inferoscope::core
