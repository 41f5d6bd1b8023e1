// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"
#include "kernels/half.h"
#include "kernels/quant/round.h"
#include "kernels/quant/scale_search.h"

#include <cmath>

namespace inferoscope::kernels::quant {

// 256 numbers of 3 bits in 16 parts of 16, each part with a scale of 6 bits:
// value = d * (scale - 32) * (q - 4).
struct Q3_K {
  static constexpr FormatId kId{11};
  static constexpr std::string_view kName = "q3_k";
  static constexpr int kBlockElems = 256;
  static constexpr int kParts = 16, kPartElems = 16;
  struct Block {
    std::uint8_t high[32];    // element 32 n + i: the third bit, bit n of byte i
    std::uint8_t q[64];       // element 128 h + 32 r + i: the low two bits, byte 32 h + i, at bit 2 r
    std::uint8_t scales[12];  // of part p: the low four bits in byte p % 8 (low half for p < 8, else high), the upper
                              // two in byte 8 + p % 4 at bit p / 4 * 2
    std::uint16_t d;          // half
  };
  static_assert(sizeof(Block) == 110);

  static void encodeBlock(const float* values, Block& block) {
    float scales[kParts];
    float farthest = 0.0F;
    for (int part = 0; part < kParts; ++part) {
      scales[part] = bestScale<kPartElems>(values + part * kPartElems, 4);
      if (std::fabs(scales[part]) > std::fabs(farthest)) farthest = scales[part];
    }
    block = {};
    block.d = floatToHalf(farthest / -32.0F);  // the farthest scale becomes 0 - 32: that end reaches farther
    const float inverse = farthest != 0.0F ? -32.0F / farthest : 0.0F;
    for (int part = 0; part < kParts; ++part) {
      putScale(block, part, truncateTo(scales[part] * inverse + 32.5F, 0, 63));
      const float step = stepOf(block, part);
      const float inverse_step = step != 0.0F ? 1.0F / step : 0.0F;
      for (int i = part * kPartElems; i < (part + 1) * kPartElems; ++i) {
        const int q = truncateTo(values[i] * inverse_step + 4.5F, 0, 7);
        block.q[byteOf(i)] |= static_cast<std::uint8_t>((q & 3) << shiftOf(i));
        block.high[i % 32] |= static_cast<std::uint8_t>(q >> 2 << (i / 32));
      }
    }
  }

  static void decodeBlock(const Block& block, float* values) {
    for (int i = 0; i < kBlockElems; ++i) {
      const int q = (block.q[byteOf(i)] >> shiftOf(i) & 3) | (block.high[i % 32] >> (i / 32) & 1) << 2;
      values[i] = stepOf(block, i / kPartElems) * static_cast<float>(q - 4);
    }
  }

 private:
  static int byteOf(int i) { return i / 128 * 32 + i % 32; }
  static int shiftOf(int i) { return i / 32 % 4 * 2; }

  static float stepOf(const Block& block, int part) {
    const int low = block.scales[part % 8] >> (part / 8 * 4) & 15;
    const int high = block.scales[8 + part % 4] >> (part / 4 * 2) & 3;
    return halfToFloat(block.d) * static_cast<float>((low | high << 4) - 32);
  }
  static void putScale(Block& block, int part, int scale) {
    block.scales[part % 8] |= static_cast<std::uint8_t>((scale & 15) << (part / 8 * 4));
    block.scales[8 + part % 4] |= static_cast<std::uint8_t>(scale >> 4 << (part / 4 * 2));
  }
};

}  // namespace inferoscope::kernels::quant
