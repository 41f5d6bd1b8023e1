// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/cpu_probe.h"

#include "core/backend/huge_memory.h"
#include "core/error.h"
#include "kernels/cpu/probe.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>

namespace inferoscope::core {
namespace {

constexpr int kPasses = 5;
constexpr std::size_t kFarBytes = std::size_t{1} << 30;  // past the caches of any machine of today
constexpr std::size_t kNearBytesPerThread = std::size_t{1} << 20;
constexpr int kRateMilliseconds = 30;

template <class Measure>
double bestOf(const std::stop_token& stop, Measure measure) {
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
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

// Memory of a quarter of what is free at most, so that the probe never drives others out.
std::size_t farBytes() {
  const std::size_t available = availableMemory();
  return available == 0 ? kFarBytes : std::min(kFarBytes, available / 4 / 4096 * 4096);
}

}  // namespace

MachineLimits probeCpu(kernels::cpu::Pool& pool, const std::stop_token& stop) {
  namespace cpu = kernels::cpu;
  MachineLimits limits;
  limits.num_threads = pool.numThreads();
  limits.last_level_cache_bytes = lastLevelCacheBytes();

  const auto far = allocateHuge(farBytes(), "the bandwidth probe");
  // Touched once, or all pages would be the same zero page.
  constexpr std::size_t kStripe = std::size_t{16} << 20;
  const int stripes = static_cast<int>((far->bytes() + kStripe - 1) / kStripe);
  pool.parallelFor(stripes, stop, [&](int stripe, int) {
    const std::size_t begin = static_cast<std::size_t>(stripe) * kStripe;
    std::memset(far->data() + begin, 1, std::min(kStripe, far->bytes() - begin));
  });
  if (stop.stop_requested()) throw Cancelled();
  limits.read_bytes_per_s = bestOf(stop, [&] { return cpu::readBandwidth(pool, {far->data(), far->bytes()}, stop); });

  const std::size_t near = std::min(far->bytes(), kNearBytesPerThread * static_cast<std::size_t>(pool.numThreads()));
  for (int pass = 0; pass < 20; ++pass) {  // the first passes bring it into the cache
    limits.cache_read_bytes_per_s =
        std::max(limits.cache_read_bytes_per_s, cpu::readBandwidth(pool, {far->data(), near}, stop));
  }
  limits.fp32_flop_per_s = bestOf(stop, [&] { return cpu::fp32Rate(pool, kRateMilliseconds, stop); });
  limits.int8_op_per_s = bestOf(stop, [&] { return cpu::int8DotRate(pool, kRateMilliseconds, stop); });
  limits.measured_at_unix_s =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  return limits;
}

}  // namespace inferoscope::core
