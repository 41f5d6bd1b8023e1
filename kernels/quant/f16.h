// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"
#include "kernels/half.h"

namespace inferoscope::kernels::quant {

struct F16 {
  static constexpr FormatId kId{1};
  static constexpr std::string_view kName = "f16";
  static constexpr int kBlockElems = 1;
  using Block = std::uint16_t;

  static void encodeBlock(const float* values, Block& block) { block = floatToHalf(*values); }
  static void decodeBlock(const Block& block, float* values) { *values = halfToFloat(block); }
};

}  // namespace inferoscope::kernels::quant
