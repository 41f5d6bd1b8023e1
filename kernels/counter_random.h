// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/host_device.h"

#include <cstdint>

namespace inferoscope::kernels {

// Uniform in [0, 1) from a counter, so that whoever asks for the number of a position gets the same one, on any device:
// SplitMix64's finalizer (Steele, Lea, Flood 2014) over seed and position.
INFEROSCOPE_HOST_DEVICE inline double uniformAt(std::uint64_t seed, std::int64_t position) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(position) + 0x632be59bd9b4e019U;
  for (int round = 0; round < 2; ++round) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    x ^= x >> 31;
  }
  return static_cast<double>(x >> 11) * 0x1.0p-53;
}

}  // namespace inferoscope::kernels
