// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/half.h"
#include "kernels/quant/round.h"
#include "kernels/quant/scale_search.h"

#include <algorithm>
#include <cstdint>

namespace inferoscope::kernels::quant {

// Q4_K and Q5_K: 256 numbers in 8 parts of 32, each part with a scale and a minimum of 6 bits: value = d * scale * q -
// dmin * min. The 16 numbers of 6 bits lie in 12 bytes: byte j and j + 4 hold scale and min of part j in their low six
// bits; byte j + 8 the low four bits of scale (low half) and min (high half) of part j + 4, whose upper two bits are
// the upper two of bytes j and j + 4. j = 0..3.
struct KScales {
  static constexpr int kParts = 8;
  static constexpr int kMost = 63;

  std::uint8_t scale[kParts];
  std::uint8_t min[kParts];

  static KScales unpack(const std::uint8_t (&packed)[12]) {
    KScales s;
    for (int j = 0; j < 4; ++j) {
      s.scale[j] = packed[j] & 63;
      s.min[j] = packed[j + 4] & 63;
      s.scale[j + 4] = static_cast<std::uint8_t>((packed[j + 8] & 15) | (packed[j] >> 6 << 4));
      s.min[j + 4] = static_cast<std::uint8_t>((packed[j + 8] >> 4) | (packed[j + 4] >> 6 << 4));
    }
    return s;
  }

  void pack(std::uint8_t (&packed)[12]) const {
    for (int j = 0; j < 4; ++j) {
      packed[j] = static_cast<std::uint8_t>(scale[j] | (scale[j + 4] >> 4 << 6));
      packed[j + 4] = static_cast<std::uint8_t>(min[j] | (min[j + 4] >> 4 << 6));
      packed[j + 8] = static_cast<std::uint8_t>((scale[j + 4] & 15) | (min[j + 4] & 15) << 4);
    }
  }
};

// The scales of a block of 256 values, whose numbers are 0..max_q; q gets those numbers. Returns d and dmin through the
// block's fields.
inline KScales fitKScales(const float* values, int max_q, std::uint16_t& d, std::uint16_t& dmin, std::uint8_t* q) {
  constexpr int kPartElems = 32;
  ScaleAndMin grids[KScales::kParts];
  float most_scale = 0.0F, most_min = 0.0F;
  for (int part = 0; part < KScales::kParts; ++part) {
    grids[part] = bestScaleAndMin<kPartElems>(values + part * kPartElems, max_q);
    most_scale = std::fmax(most_scale, grids[part].scale);
    most_min = std::fmax(most_min, -grids[part].min);
  }
  d = floatToHalf(most_scale / KScales::kMost);
  dmin = floatToHalf(most_min / KScales::kMost);
  const auto inverse = [](float most) { return most > 0.0F ? KScales::kMost / most : 0.0F; };

  KScales s;
  for (int part = 0; part < KScales::kParts; ++part) {
    const int scale = truncateTo(grids[part].scale * inverse(most_scale) + 0.5F, 0, KScales::kMost);
    const int min = truncateTo(-grids[part].min * inverse(most_min) + 0.5F, 0, KScales::kMost);
    s.scale[part] = static_cast<std::uint8_t>(scale);
    s.min[part] = static_cast<std::uint8_t>(min);
    const ScaleAndMin stored = {halfToFloat(d) * static_cast<float>(scale),
                                -halfToFloat(dmin) * static_cast<float>(min)};
    float rounded[kPartElems];
    roundToGrid<kPartElems>(values + part * kPartElems, stored, max_q, rounded);
    std::copy_n(rounded, kPartElems, q + part * kPartElems);
  }
  return s;
}

// The values of a block of that kind. number(part, i): the number of element i of a part.
template <class Block, class Number>
void decodeKParts(const Block& block, float* values, Number number) {
  const KScales s = KScales::unpack(block.scales);
  for (int part = 0; part < KScales::kParts; ++part) {
    const float d = halfToFloat(block.d) * static_cast<float>(s.scale[part]);
    const float m = halfToFloat(block.dmin) * static_cast<float>(s.min[part]);
    for (int i = 0; i < 32; ++i) values[part * 32 + i] = d * static_cast<float>(number(part, i)) - m;
  }
}

// The four low bits of a number: byte 32 n + i holds element i of part 2 n in its low half, of 2 n + 1 in the high.
inline int lowBits(const std::uint8_t (&q)[128], int part, int i) {
  return q[part / 2 * 32 + i] >> (part % 2 * 4) & 15;
}

}  // namespace inferoscope::kernels::quant
