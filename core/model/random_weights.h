// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/weights.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace inferoscope::core {

// Fills matrices with normally distributed random weights, fast: a pool of random values is encoded once, and a row is
// put together from pieces of it at random places. The same bytes come out whatever the number of threads.
class RandomWeights {
 public:
  RandomWeights(Backend& backend, Buffer& memory) : m_backend(backend), m_memory(memory) {}

  // Calls done(bytes) after each few MiB; it may throw to stop.
  void fill(const PlacedWeight& weight, float deviation, const std::function<void(std::size_t)>& done);
  // A norm or a bias: f32 values around `mean`.
  void fillVector(const PlacedWeight& weight, float mean, float deviation);

 private:
  const std::vector<std::byte>& pool(const kernels::Format& format, float deviation);

  Backend& m_backend;
  Buffer& m_memory;
  std::vector<std::byte> m_chunk;  // rows on their way to the device
  std::map<std::pair<kernels::FormatId, float>, std::vector<std::byte>> m_pools;
};

}  // namespace inferoscope::core
