// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/row_parts.h"
#include "kernels/cpu/rows.h"
#include "kernels/op_costs.h"

#include <cmath>

namespace inferoscope::kernels::cpu {
namespace {

constexpr int kPanelTokens = 8;

// The angle is a double: at position 100,000 a float's last bit would be worth 0.008 radians.
void rotateToken(const RopeArgs& args, int token) {
  const bool interleaved = args.style == RopeStyle::kInterleaved;
  const int num_pairs = args.rope_dim / 2;
  float* heads = args.x + std::int64_t{token} * args.num_heads * args.head_dim;
  for (int i = 0; i < num_pairs; ++i) {
    const double angle = args.positions[token] * args.inv_freq[i];
    const auto cosine = static_cast<float>(std::cos(angle));
    const auto sine = static_cast<float>(std::sin(angle));
    float* first = heads + (interleaved ? 2 * i : i);
    float* second = heads + (interleaved ? 2 * i + 1 : i + num_pairs);
    for (int h = 0; h < args.num_heads; ++h) {
      float& a = first[std::int64_t{h} * args.head_dim];
      float& b = second[std::int64_t{h} * args.head_dim];
      const float rotated = a * cosine - b * sine;
      b = a * sine + b * cosine;
      a = rotated;
    }
  }
}

void run(const RopeArgs& args, const Exec& exec) {
  forPanels(exec, args.num_tokens, kPanelTokens, [&](int begin, int end, int) {
    for (int t = begin; t < end; ++t) rotateToken(args, t);
  });
}

}  // namespace

Kernel<RopeArgs> ropePlain() {
  return {"rope.plain", "plain", "Rotary positions", Device::kCpu, supportsAll, ropeCost, noScratch, run};
}

}  // namespace inferoscope::kernels::cpu
