// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace inferoscope::kernels::quant {

// What a block of 32 small numbers q is made of: a half d, a half m if it has a min, then the numbers in 4 or 8 bits.
// value = d * (q - zero) + m. Byte i of 4-bit ones holds element i in its low half and i + 16 in its high one.
struct Quants {
  int bits;  // 4: unsigned, 8: signed
  int zero;
  bool has_min;
};

}  // namespace inferoscope::kernels::quant
