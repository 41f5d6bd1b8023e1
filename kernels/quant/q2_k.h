// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"
#include "kernels/half.h"
#include "kernels/quant/round.h"
#include "kernels/quant/scale_search.h"

#include <cmath>

namespace inferoscope::kernels::quant {

// 256 numbers of 2 bits in 16 parts of 16, each part with a scale and a minimum of 4 bits:
// value = d * scale * q - dmin * min.
struct Q2_K {
  static constexpr FormatId kId{10};
  static constexpr std::string_view kName = "q2_k";
  static constexpr int kBlockElems = 256;
  static constexpr int kParts = 16, kPartElems = 16;
  struct Block {
    std::uint8_t scales[kParts];  // low four bits: scale, high: min
    std::uint8_t q[64];           // element 128 h + 32 r + i: byte 32 h + i, at bit 2 r
    std::uint16_t d;              // half
    std::uint16_t dmin;           // half
  };
  static_assert(sizeof(Block) == 84);

  static void encodeBlock(const float* values, Block& block) {
    ScaleAndMin grids[kParts];
    float most_scale = 0.0F, most_min = 0.0F;
    for (int part = 0; part < kParts; ++part) {
      grids[part] = bestScaleAndMin<kPartElems>(values + part * kPartElems, 3);
      most_scale = std::fmax(most_scale, grids[part].scale);
      most_min = std::fmax(most_min, -grids[part].min);
    }
    block = {};
    block.d = floatToHalf(most_scale / 15.0F);
    block.dmin = floatToHalf(most_min / 15.0F);
    const float per_scale = most_scale > 0.0F ? 15.0F / most_scale : 0.0F;
    const float per_min = most_min > 0.0F ? 15.0F / most_min : 0.0F;
    for (int part = 0; part < kParts; ++part) {
      const int scale = truncateTo(grids[part].scale * per_scale + 0.5F, 0, 15);
      const int min = truncateTo(-grids[part].min * per_min + 0.5F, 0, 15);
      block.scales[part] = static_cast<std::uint8_t>(scale | min << 4);
      float q[kPartElems];
      roundToGrid<kPartElems>(values + part * kPartElems, gridOf(block, part), 3, q);
      for (int i = 0; i < kPartElems; ++i) {
        block.q[byteOf(part) + i] |= static_cast<std::uint8_t>(static_cast<int>(q[i]) << shiftOf(part));
      }
    }
  }

  static void decodeBlock(const Block& block, float* values) {
    for (int part = 0; part < kParts; ++part) {
      const ScaleAndMin grid = gridOf(block, part);
      for (int i = 0; i < kPartElems; ++i) {
        const int q = block.q[byteOf(part) + i] >> shiftOf(part) & 3;
        values[part * kPartElems + i] = grid.scale * static_cast<float>(q) + grid.min;
      }
    }
  }

 private:
  static int byteOf(int part) { return part / 8 * 32 + part % 2 * 16; }
  static int shiftOf(int part) { return part / 2 % 4 * 2; }
  static ScaleAndMin gridOf(const Block& block, int part) {
    return {halfToFloat(block.d) * static_cast<float>(block.scales[part] & 15),
            -halfToFloat(block.dmin) * static_cast<float>(block.scales[part] >> 4)};
  }
};

}  // namespace inferoscope::kernels::quant
