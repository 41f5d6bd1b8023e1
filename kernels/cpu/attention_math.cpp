// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/attention_math.h"

#include <algorithm>
#include <cmath>

namespace inferoscope::kernels::cpu {
namespace {

AttentionMath::Decode decoder(FormatId format) {
  return formatOf(format).decode;
}

AttentionMath::Stored stored(FormatId, int) {
  return {};
}

void arrange(const float* keys, int dim, float* arranged) {
  std::copy_n(keys, kTileTokens * dim, arranged);
}

void scores(const float* queries, int num_rows, const float* keys, int dim, float* scores) {
  for (int row = 0; row < num_rows; ++row) {
    for (int i = 0; i < kTileTokens; ++i) {
      float sum = 0.0F;
      for (int d = 0; d < dim; ++d) sum += queries[row * dim + d] * keys[i * dim + d];
      scores[row * kTileTokens + i] = sum;
    }
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

void accumulate(const float* weights, int num_rows, const float* values, int num_tokens, int dim, float* out) {
  for (int row = 0; row < num_rows; ++row, weights += kTileTokens, out += dim) {
    for (int i = 0; i < num_tokens; ++i) {
      for (int d = 0; d < dim; ++d) out[d] += weights[i] * values[i * dim + d];
    }
  }
}

}  // namespace

const AttentionMath& scalarAttentionMath() {
  static constexpr AttentionMath kMath = {decoder, stored, arrange, scores, largest, expSum, scale, accumulate};
  return kMath;
}

}  // namespace inferoscope::kernels::cpu
