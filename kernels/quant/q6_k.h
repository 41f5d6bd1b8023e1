// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"
#include "kernels/half.h"
#include "kernels/quant/round.h"
#include "kernels/quant/scale_search.h"

#include <cmath>

namespace inferoscope::kernels::quant {

// 256 numbers of 6 bits in 16 parts of 16, each part with a signed byte as scale: value = d * scale * (q - 32).
struct Q6_K {
  static constexpr FormatId kId{14};
  static constexpr std::string_view kName = "q6_k";
  static constexpr int kBlockElems = 256;
  static constexpr int kHeadHalves = 0;
  static constexpr int kParts = 16, kPartElems = 16;
  // Each half of the block has 128 elements in 4 rows of 32: element 128 h + 32 r + i
  struct Block {
    std::uint8_t q[128];    // byte 64 h + 32 (r % 2) + i: four bits, in the low half for r < 2, else in the high one
    std::uint8_t high[64];  // byte 32 h + i: the upper two bits, at bit 2 r
    std::int8_t scales[kParts];
    std::uint16_t d;  // half
  };
  static_assert(sizeof(Block) == 210);

  static void encodeBlock(const float* values, Block& block) {
    float scales[kParts];
    float farthest = 0.0F;
    for (int part = 0; part < kParts; ++part) {
      scales[part] = bestScale<kPartElems>(values + part * kPartElems, 32);
      if (std::fabs(scales[part]) > std::fabs(farthest)) farthest = scales[part];
    }
    block = {};
    block.d = floatToHalf(farthest / -128.0F);  // the farthest scale becomes -128: that end reaches farther
    const float inverse = farthest != 0.0F ? -128.0F / farthest : 0.0F;
    for (int part = 0; part < kParts; ++part) {
      block.scales[part] = static_cast<std::int8_t>(truncateTo(std::round(scales[part] * inverse), -128, 127));
      const float step = halfToFloat(block.d) * static_cast<float>(block.scales[part]);
      const float inverse_step = step != 0.0F ? 1.0F / step : 0.0F;
      for (int i = part * kPartElems; i < (part + 1) * kPartElems; ++i) {
        put(block, i, truncateTo(values[i] * inverse_step + 32.5F, 0, 63));
      }
    }
  }

  static void decodeBlock(const Block& block, float* values) {
    const float d = halfToFloat(block.d);
    for (int i = 0; i < kBlockElems; ++i) {
      const int half = i / 128, row = i / 32 % 4;
      const int low = block.q[half * 64 + row % 2 * 32 + i % 32] >> (row / 2 * 4) & 15;
      const int high = block.high[half * 32 + i % 32] >> (row * 2) & 3;
      values[i] = d * static_cast<float>(block.scales[i / kPartElems]) * static_cast<float>((low | high << 4) - 32);
    }
  }

 private:
  static void put(Block& block, int i, int q) {
    const int half = i / 128, row = i / 32 % 4;
    block.q[half * 64 + row % 2 * 32 + i % 32] |= static_cast<std::uint8_t>((q & 15) << (row / 2 * 4));
    block.high[half * 32 + i % 32] |= static_cast<std::uint8_t>(q >> 4 << (row * 2));
  }
};

}  // namespace inferoscope::kernels::quant
