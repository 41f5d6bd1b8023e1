// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/random.h"

#include <cmath>
#include <numbers>

namespace inferoscope::core {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15U;

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed, std::uint64_t stream, std::uint64_t index)
    : m_state(mix(mix(mix(seed + kGolden) + stream + kGolden) + index + kGolden)) {}

std::uint64_t Random::bits() {
  m_state += kGolden;
  return mix(m_state);
}

double Random::uniform() {
  return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53;
}

std::uint64_t Random::below(std::uint64_t n) {
  return bits() % n;  // the bias of 2^-64 * n is of no account here
}

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

// Marsaglia and Tsang 2000; below shape 1 by the boost gamma(a) = gamma(a + 1) * u^(1/a).
double Random::gamma(double shape) {
  if (shape < 1.0) {
    const double boost = std::pow(uniform(), 1.0 / shape);
    return gamma(shape + 1.0) * boost;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = normal();
    const double cube = 1.0 + c * x;
    if (cube <= 0.0) continue;
    const double v = cube * cube * cube;
    if (std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace inferoscope::core
