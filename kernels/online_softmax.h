// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/host_device.h"

#include <math.h>  // expf and INFINITY under the same names on a GPU

namespace inferoscope::kernels {

// Softmax-weighted sum of values, met one after the other or in parts: the state is (o, m, d), where m is the largest
// score so far, d = sum exp(score - m) and o[dim] = sum exp(score - m) * value. o lies beside the struct, in
// registers or memory of the kernel's choice. An empty state is (0, -inf, 0): merging it changes nothing, normalizing
// it gives zeros, and no masked score (-inf) ever meets another in a subtraction.
struct OnlineSoftmax {
  float m = -INFINITY;
  float d = 0.0F;

  // Raises m to `largest` if that is larger. What was summed so far, o included, is worth the returned factor
  // from now on; d is scaled here, o by the caller.
  INFEROSCOPE_HOST_DEVICE float raise(float largest) {
    if (largest <= m) return 1.0F;
    const float factor = d == 0.0F ? 0.0F : expf(m - largest);
    m = largest;
    d *= factor;
    return factor;
  }
};

INFEROSCOPE_HOST_DEVICE inline void init(OnlineSoftmax& state, float* o, int dim) {
  state = {};
  for (int i = 0; i < dim; ++i) o[i] = 0.0F;
}

// Adds a part that is worth exp(score) * (weight, value[dim]); a single value has weight 1.
INFEROSCOPE_HOST_DEVICE inline void push(OnlineSoftmax& state, float* o, int dim, float score, const float* value,
                                         float weight = 1.0F) {
  if (score == -INFINITY) return;  // masked
  const float old_factor = state.raise(score);
  const float factor = expf(score - state.m);
  state.d += factor * weight;
  for (int i = 0; i < dim; ++i) o[i] = o[i] * old_factor + factor * value[i];
}

// Adds all that `part` has seen. The result depends on the order of merges in its last bits.
INFEROSCOPE_HOST_DEVICE inline void merge(OnlineSoftmax& state, float* o, const OnlineSoftmax& part,
                                          const float* part_o, int dim) {
  push(state, o, dim, part.m, part_o, part.d);
}

// o becomes the weighted mean; zeros if nothing was seen.
INFEROSCOPE_HOST_DEVICE inline void normalize(const OnlineSoftmax& state, float* o, int dim) {
  const float inverse = state.d == 0.0F ? 0.0F : 1.0F / state.d;
  for (int i = 0; i < dim; ++i) o[i] *= inverse;
}

}  // namespace inferoscope::kernels
