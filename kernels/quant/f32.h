// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"

namespace inferoscope::kernels::quant {

struct F32 {
  static constexpr FormatId kId{0};
  static constexpr std::string_view kName = "f32";
  static constexpr int kBlockElems = 1;
  using Block = float;

  static void encodeBlock(const float* values, Block& block) { block = *values; }
  static void decodeBlock(const Block& block, float* values) { *values = block; }
};

}  // namespace inferoscope::kernels::quant
