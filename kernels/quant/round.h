// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace inferoscope::kernels::quant {

// value cut to a whole number (towards zero) within lo..hi; NaN gives lo. A plain cast of these would be undefined.
inline int truncateTo(float value, int lo, int hi) {
  if (!(value > static_cast<float>(lo))) return lo;
  return value < static_cast<float>(hi) ? static_cast<int>(value) : hi;
}

}  // namespace inferoscope::kernels::quant
