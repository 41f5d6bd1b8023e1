// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/format.h"
#include "kernels/half.h"
#include "kernels/quant/k_scales.h"

namespace inferoscope::kernels::quant {

// 256 numbers of 4 bits in 8 parts of 32, see KScales: value = d * scale * q - dmin * min.
struct Q4_K {
  static constexpr FormatId kId{12};
  static constexpr std::string_view kName = "q4_k";
  static constexpr int kBlockElems = 256;
  static constexpr int kHeadHalves = 2;
  struct Block {
    std::uint16_t d;          // half
    std::uint16_t dmin;       // half
    std::uint8_t scales[12];  // KScales
    std::uint8_t q[128];      // byte 32 n + i: low four bits: element i of part 2 n, high: of part 2 n + 1
  };
  static_assert(sizeof(Block) == 144);

  static void encodeBlock(const float* values, Block& block) {
    std::uint8_t q[kBlockElems];
    fitKScales(values, 15, block.d, block.dmin, q).pack(block.scales);
    for (int i = 0; i < 128; ++i) {
      const int low = i / 32 * 64 + i % 32;
      block.q[i] = static_cast<std::uint8_t>(q[low] | q[low + 32] << 4);
    }
  }

  static void decodeBlock(const Block& block, float* values) {
    decodeKParts(block, values, [&](int part, int i) { return lowBits(block.q, part, i); });
  }
};

}  // namespace inferoscope::kernels::quant
