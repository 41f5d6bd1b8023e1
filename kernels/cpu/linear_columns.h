// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/simd_inline.h"
#include "kernels/interleave.h"
#include "kernels/quant/formats.h"

#include <cstddef>

// How 32 columns of a group of interleaved rows are read as bytes and scales, for linear_tiles.h. A Columns<V, F,
// kPart> is columns 32 kPart ... 32 kPart + 31 of a block of format F, for the rows of one vector V:
//   kBytes       what its bytes are
//   kZero        the byte that stands for 0
//   kNumScales   scales of 32 columns: 1, or 2 for 16 columns each
//   kHasMin      whether there is a min
//   word(i)      bytes of columns 4 i ... 4 i + 3, for i = 0..7
//   scale(i), min()
namespace inferoscope::kernels::cpu {
namespace {  // NOLINT: meant for each file

enum class Bytes { kBelow16, kBelow64, kSigned };

// Where the fields of a block lie for the rows of a vector, the first of which is `row`.
template <class V, class F>
class Fields {
 public:
  INFEROSCOPE_SIMD Fields(const std::byte* block, int row)
      : m_halves(block + row * 2),
        m_words(block + F::kHeadHalves * kGroupRows * 2 + row / kHalfGroupRows * kNumWords * kHalfGroupRows * 4 +
                row % kHalfGroupRows * 4) {}

  INFEROSCOPE_SIMD typename V::Floats half(int i) const { return V::loadHalves(m_halves + i * kGroupRows * 2); }
  INFEROSCOPE_SIMD typename V::Ints word(int i) const { return V::loadInts(m_words + i * kHalfGroupRows * 4); }
  // The half that is left over behind the words.
  INFEROSCOPE_SIMD typename V::Floats lastHalf() const {
    return V::loadHalves(m_halves + F::kHeadHalves * kGroupRows * 2 + kNumWords * kGroupRows * 4);
  }

 private:
  static constexpr int kNumWords = (static_cast<int>(sizeof(typename F::Block)) - F::kHeadHalves * 2) / 4;
  const std::byte* m_halves;
  const std::byte* m_words;
};

// Bits kFirst ... of each byte of v, as many as `mask` has.
template <class V, int kFirst>
INFEROSCOPE_SIMD typename V::Ints bitsOf(typename V::Ints v, int mask) {
  return V::bitAnd(V::template shiftRight<kFirst>(v), V::bytes(mask));
}

template <class V, class F, int kPart>
struct Columns;

template <class V, class F, int kPart>
requires requires {
  F::kQuants;
}
struct Columns<V, F, kPart> {
  static constexpr Bytes kBytes = F::kQuants.bits == 8 ? Bytes::kSigned : Bytes::kBelow16;
  static constexpr int kZero = F::kQuants.zero;
  static constexpr int kNumScales = 1;
  static constexpr bool kHasMin = F::kQuants.has_min;

  INFEROSCOPE_SIMD typename V::Ints word(int i) const {
    if constexpr (kBytes == Bytes::kSigned) return fields.word(i);
    return i < 4 ? bitsOf<V, 0>(fields.word(i), 15) : bitsOf<V, 4>(fields.word(i - 4), 15);
  }
  INFEROSCOPE_SIMD typename V::Floats scale(int) const { return fields.half(0); }
  INFEROSCOPE_SIMD typename V::Floats min() const { return fields.half(1); }

  Fields<V, F> fields;
};

// KScales: each number's six bits put together in the lowest byte of a lane, then d or dmin times it.
template <class V, class F, int kPart>
struct KColumns {
  static constexpr int kZero = 0;
  static constexpr int kNumScales = 1;
  static constexpr bool kHasMin = true;

  INFEROSCOPE_SIMD typename V::Floats scale(int) const { return V::multiply(fields.half(0), V::toFloats(number<0>())); }
  INFEROSCOPE_SIMD typename V::Floats min() const {
    return V::multiply(fields.half(1), V::toFloats(V::negative(number<1>())));
  }

  Fields<V, F> fields;

 private:
  template <int kMin>
  INFEROSCOPE_SIMD typename V::Ints number() const {
    constexpr int kByte = kPart % 4 * 8;
    const typename V::Ints own = fields.word(kMin);
    if constexpr (kPart < 4) return V::bitAnd(V::template shiftRight<kByte>(own), V::ints(63));
    const typename V::Ints low = V::template shiftRight<kByte + 4 * kMin>(fields.word(2));
    const typename V::Ints high = V::template shiftRight<kByte + 6>(own);
    return V::bitOr(V::bitAnd(low, V::ints(15)), V::template shiftLeft<4>(V::bitAnd(high, V::ints(3))));
  }
};

template <class V, int kPart>
struct Columns<V, quant::Q4_K, kPart> : KColumns<V, quant::Q4_K, kPart> {
  static constexpr Bytes kBytes = Bytes::kBelow16;

  INFEROSCOPE_SIMD typename V::Ints word(int i) const {
    return bitsOf<V, kPart % 2 * 4>(this->fields.word(3 + kPart / 2 * 8 + i), 15);
  }
};

template <class V, int kPart>
struct Columns<V, quant::Q5_K, kPart> : KColumns<V, quant::Q5_K, kPart> {
  static constexpr Bytes kBytes = Bytes::kBelow64;

  INFEROSCOPE_SIMD typename V::Ints word(int i) const {
    const typename V::Ints low = bitsOf<V, kPart % 2 * 4>(this->fields.word(11 + kPart / 2 * 8 + i), 15);
    const typename V::Ints fifth = bitsOf<V, kPart>(this->fields.word(3 + i), 1);
    return V::bitOr(low, V::template shiftLeft<4>(fifth));
  }
};

template <class V, int kPart>
struct Columns<V, quant::Q6_K, kPart> {
  static constexpr Bytes kBytes = Bytes::kBelow64;
  static constexpr int kZero = 32;
  static constexpr int kNumScales = 2;
  static constexpr bool kHasMin = false;
  static constexpr int kHalf = kPart / 4, kRow = kPart % 4;  // as the format names them

  INFEROSCOPE_SIMD typename V::Ints word(int i) const {
    const typename V::Ints low = bitsOf<V, kRow / 2 * 4>(fields.word(kHalf * 16 + kRow % 2 * 8 + i), 15);
    const typename V::Ints high = bitsOf<V, kRow * 2>(fields.word(32 + kHalf * 8 + i), 3);
    return V::bitOr(low, V::template shiftLeft<4>(high));
  }
  INFEROSCOPE_SIMD typename V::Floats scale(int i) const {
    const typename V::Ints four = fields.word(48 + kPart / 2);
    const typename V::Ints byte =
        i == 0 ? V::template signedByte<kPart % 2 * 2>(four) : V::template signedByte<kPart % 2 * 2 + 1>(four);
    return V::multiply(fields.lastHalf(), V::toFloats(byte));
  }

  Fields<V, quant::Q6_K> fields;
};

}  // namespace
}  // namespace inferoscope::kernels::cpu
