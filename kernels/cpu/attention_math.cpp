// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/attention_math.h"

#include <algorithm>
#include <cmath>

namespace inferoscope::kernels::cpu {
namespace {

AttentionMath::Decode decoder(FormatId format) {
  return formatOf(format).decode;
}

void dots(const float* q, const float* keys, int dim, float* scores) {
  for (int i = 0; i < kTileTokens; ++i) {
    float sum = 0.0F;
    for (int d = 0; d < dim; ++d) sum += q[d] * keys[i * dim + d];
    scores[i] = sum;
  }
}

float largest(const float* scores, int num_scores) {
  return *std::max_element(scores, scores + num_scores);
}

float expSum(float* scores, int num_scores, float m) {
  float sum = 0.0F;
  for (int i = 0; i < num_scores; ++i) {
    scores[i] = std::exp(scores[i] - m);
    sum += scores[i];
  }
  return sum;
}

void scale(float* values, int num_values, float factor) {
  for (int i = 0; i < num_values; ++i) values[i] *= factor;
}

void accumulate(const float* weights, const float* values, int num_tokens, int dim, float* out) {
  for (int i = 0; i < num_tokens; ++i) {
    for (int d = 0; d < dim; ++d) out[d] += weights[i] * values[i * dim + d];
  }
}

}  // namespace

const AttentionMath& scalarAttentionMath() {
  static constexpr AttentionMath kMath = {decoder, dots, largest, expSum, scale, accumulate};
  return kMath;
}

}  // namespace inferoscope::kernels::cpu
