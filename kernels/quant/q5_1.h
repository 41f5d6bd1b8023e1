// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"
#include "kernels/half.h"
#include "kernels/quant/round.h"
#include "kernels/quant/value_range.h"

namespace inferoscope::kernels::quant {

// 32 numbers of 5 bits, a scale and a minimum: value = d * q + m.
struct Q5_1 {
  static constexpr FormatId kId{7};
  static constexpr std::string_view kName = "q5_1";
  static constexpr int kBlockElems = 32;
  struct Block {
    std::uint16_t d;       // half
    std::uint16_t m;       // half
    std::uint8_t high[4];  // the fifth bit of element i is bit i
    std::uint8_t q[16];    // low four bits: elements 0..15, high: 16..31
  };
  static_assert(sizeof(Block) == 24);

  static void encodeBlock(const float* values, Block& block) {
    const auto [least, most] = ValueRange::of(values, kBlockElems);
    const float d = (most - least) / 31.0F;
    const float inverse = d != 0.0F ? 1.0F / d : 0.0F;
    block = {.d = floatToHalf(d), .m = floatToHalf(least), .high = {}, .q = {}};
    for (int i = 0; i < kBlockElems; ++i) {
      const int q = truncateTo((values[i] - least) * inverse + 0.5F, 0, 31);
      block.q[i % 16] |= static_cast<std::uint8_t>((q & 15) << (i / 16 * 4));
      block.high[i / 8] |= static_cast<std::uint8_t>(q >> 4 << (i % 8));
    }
  }

  static void decodeBlock(const Block& block, float* values) {
    const float d = halfToFloat(block.d);
    const float m = halfToFloat(block.m);
    for (int i = 0; i < kBlockElems; ++i) {
      const int low = block.q[i % 16] >> (i / 16 * 4) & 15;
      const int high = block.high[i / 8] >> (i % 8) & 1;
      values[i] = d * static_cast<float>(low | high << 4) + m;
    }
  }
};

}  // namespace inferoscope::kernels::quant
