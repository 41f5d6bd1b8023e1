// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/quant/round.h"

#include <cmath>
#include <cstdint>

// How to lay a grid of few steps through some values: several step widths are tried, and for the whole numbers that
// each gives, the best scale follows by least squares. Errors are weighted: a large weight of a model does more.
namespace inferoscope::kernels::quant {

// value ~ scale * q + min, q = 0..max_q, min <= 0
struct ScaleAndMin {
  float scale = 0.0F;
  float min = 0.0F;
};

template <int kElems>
void fitWeights(const float* values, float* weights) {
  float squares = 0.0F;
  for (int i = 0; i < kElems; ++i) squares += values[i] * values[i];
  const float typical = std::sqrt(squares / kElems);
  for (int i = 0; i < kElems; ++i) weights[i] = typical + std::fabs(values[i]);
}

template <int kElems>
void roundToGrid(const float* values, ScaleAndMin grid, int max_q, float* q) {
  const float inverse = grid.scale > 0.0F ? 1.0F / grid.scale : 0.0F;
  for (int i = 0; i < kElems; ++i) {
    q[i] = static_cast<float>(truncateTo((values[i] - grid.min) * inverse + 0.5F, 0, max_q));
  }
}

template <int kElems>
float gridError(const float* values, const float* weights, const float* q, ScaleAndMin grid) {
  float error = 0.0F;
  for (int i = 0; i < kElems; ++i) {
    const float miss = grid.scale * q[i] + grid.min - values[i];
    error += weights[i] * miss * miss;
  }
  return error;
}

// The best grid for given q; min 0 where the best one would be above.
template <int kElems>
ScaleAndMin leastSquares(const float* values, const float* weights, const float* q) {
  float sum_w = 0.0F, sum_q = 0.0F, sum_qq = 0.0F, sum_x = 0.0F, sum_qx = 0.0F;
  for (int i = 0; i < kElems; ++i) {
    const float wq = weights[i] * q[i];
    sum_w += weights[i];
    sum_q += wq;
    sum_qq += wq * q[i];
    sum_x += weights[i] * values[i];
    sum_qx += wq * values[i];
  }
  const float determinant = sum_w * sum_qq - sum_q * sum_q;
  if (!(determinant > 0.0F)) return {};
  const ScaleAndMin grid = {(sum_w * sum_qx - sum_q * sum_x) / determinant,
                            (sum_qq * sum_x - sum_q * sum_qx) / determinant};
  return grid.min <= 0.0F ? grid : ScaleAndMin{sum_qx / sum_qq, 0.0F};
}

template <int kElems>
ScaleAndMin bestScaleAndMin(const float* values, int max_q) {
  float least = 0.0F, most = values[0];
  for (int i = 0; i < kElems; ++i) {
    least = std::fmin(least, values[i]);
    most = std::fmax(most, values[i]);
  }
  if (!(most > least)) return {0.0F, least};

  float weights[kElems];
  float q[kElems];
  fitWeights<kElems>(values, weights);
  ScaleAndMin best = {(most - least) / static_cast<float>(max_q), least};
  roundToGrid<kElems>(values, best, max_q, q);
  float best_error = gridError<kElems>(values, weights, q, best);
  for (float steps = static_cast<float>(max_q) - 1.0F; steps < static_cast<float>(max_q) + 1.05F; steps += 0.1F) {
    roundToGrid<kElems>(values, {(most - least) / steps, least}, max_q, q);
    const ScaleAndMin grid = leastSquares<kElems>(values, weights, q);
    const float error = gridError<kElems>(values, weights, q, grid);
    if (grid.scale > 0.0F && error < best_error) {
      best = grid;
      best_error = error;
    }
  }
  return best;
}

// value ~ scale * q, q = -reach .. reach - 1; the value farthest from zero is given the end that reaches farther.
template <int kElems>
float bestScale(const float* values, int reach) {
  float farthest = 0.0F;
  for (int i = 0; i < kElems; ++i) {
    if (std::fabs(values[i]) > std::fabs(farthest)) farthest = values[i];
  }
  if (farthest == 0.0F) return 0.0F;

  float weights[kElems];
  fitWeights<kElems>(values, weights);
  float best = 0.0F, best_gain = 0.0F;  // gain: how much less the squared error is than that of all zeros
  for (float steps = static_cast<float>(reach) - 0.9F; steps < static_cast<float>(reach) + 0.95F; steps += 0.1F) {
    float sum_qx = 0.0F, sum_qq = 0.0F;
    for (int i = 0; i < kElems; ++i) {
      const int from_end =
          truncateTo(values[i] * (-steps / farthest) + static_cast<float>(reach) + 0.5F, 0, 2 * reach - 1);
      const auto q = static_cast<float>(from_end - reach);
      sum_qx += weights[i] * q * values[i];
      sum_qq += weights[i] * q * q;
    }
    const float gain = sum_qq > 0.0F ? sum_qx * sum_qx / sum_qq : 0.0F;
    if (gain > best_gain) {
      best = sum_qx / sum_qq;
      best_gain = gain;
    }
  }
  return best;
}

}  // namespace inferoscope::kernels::quant
