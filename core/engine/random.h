// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace inferoscope::core {

// Random numbers that are the same on every machine and standard library, unlike std's distributions.
// A stream is named by a seed and up to two numbers, so that request 7 is the same whoever came before it.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

  std::uint64_t bits();                  // 64 of them
  double uniform();                      // in (0, 1)
  std::uint64_t below(std::uint64_t n);  // 0..n-1; n at least 1
  double normal();                       // mean 0, deviation 1
  double gamma(double shape);            // mean `shape`; shape above 0

 private:
  std::uint64_t m_state;
};

}  // namespace inferoscope::core
