// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/ops.h"

#include <array>

namespace inferoscope::kernels {

std::string_view opKindName(OpKind kind) {
  static constexpr std::array<std::string_view, kNumOpKinds> kNames = {
      "embed", "rms_norm", "linear", "rope", "kv_append", "attention", "swiglu", "add", "sample"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::int64_t matrixBytes(const WeightMatrix& w) {
  return storedBytes(formatOf(w.format), std::int64_t{w.num_rows} * w.num_cols);
}

}  // namespace inferoscope::kernels
