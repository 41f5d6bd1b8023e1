// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cmath>

namespace inferoscope::kernels::quant {

// What formats with a minimum span. A NaN is no value.
struct ValueRange {
  float least;
  float most;

  static ValueRange of(const float* values, int count) {
    ValueRange range{values[0], values[0]};
    for (int i = 1; i < count; ++i) {
      range.least = std::fmin(range.least, values[i]);
      range.most = std::fmax(range.most, values[i]);
    }
    return range;
  }
};

}  // namespace inferoscope::kernels::quant
