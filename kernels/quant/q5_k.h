// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"
#include "kernels/half.h"
#include "kernels/quant/k_scales.h"

namespace inferoscope::kernels::quant {

// 256 numbers of 5 bits in 8 parts of 32, see KScales: value = d * scale * q - dmin * min.
struct Q5_K {
  static constexpr FormatId kId{13};
  static constexpr std::string_view kName = "q5_k";
  static constexpr int kBlockElems = 256;
  static constexpr int kHeadHalves = 2;
  struct Block {
    std::uint16_t d;          // half
    std::uint16_t dmin;       // half
    std::uint8_t scales[12];  // KScales
    std::uint8_t high[32];    // bit p of byte i: the fifth bit of element i of part p
    std::uint8_t q[128];      // byte 32 n + i: low four bits: element i of part 2 n, high: of part 2 n + 1
  };
  static_assert(sizeof(Block) == 176);

  static void encodeBlock(const float* values, Block& block) {
    std::uint8_t q[kBlockElems];
    block = {};
    fitKScales(values, 31, block.d, block.dmin, q).pack(block.scales);
    for (int i = 0; i < kBlockElems; ++i) {
      const int part = i / 32;
      block.q[part / 2 * 32 + i % 32] |= static_cast<std::uint8_t>((q[i] & 15) << (part % 2 * 4));
      block.high[i % 32] |= static_cast<std::uint8_t>(q[i] >> 4 << part);
    }
  }

  static void decodeBlock(const Block& block, float* values) {
    decodeKParts(block, values,
                 [&](int part, int i) { return lowBits(block.q, part, i) | (block.high[i] >> part & 1) << 4; });
  }
};

}  // namespace inferoscope::kernels::quant
