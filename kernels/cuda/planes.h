// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/gpu.h"
#include "kernels/format.h"
#include "kernels/ops.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace inferoscope::kernels::cuda {

// How a matrix lies on a device. A block of a quantized format, say 2 bytes of scale and 32 of quants, is good for no
// wide load. So each part of the blocks becomes a plane of the whole matrix: all quants, then all scales. The bytes
// stay as many. Plain types stay as they are.

Layout layoutOf(FormatId format);

using WritePlane = void (*)(void* context, std::int64_t offset, std::span<const std::byte> bytes);
void repack(const WeightMatrix& shape, std::int64_t first_block, std::span<const std::byte> blocks, WritePlane write,
            void* context);

// Empty if the kernels of this module can read such a matrix, else why not.
std::string whyNoPlanes(const WeightMatrix& w);

// 32 elements of a quantized matrix: element i is scale[i / 16] * q_i + min, with q_i the i-th signed byte of q.
struct Block32 {
  int q[8];
  float scale[2];
  float min;
};

// A matrix of 32 * num_blocks elements in planes.
struct Planes {
  const std::byte* data;
  std::int64_t num_blocks;
};

// ---- One format each: load(planes, block) of the quantized, at(data, element) of the plain -------------------------

template <std::uint32_t kNumber>
struct Stored;

GPU_DEVICE float halfAt(const std::byte* plane, std::int64_t index) {
  return halfToFloatFast(reinterpret_cast<const std::uint16_t*>(plane)[index]);
}

// The bytes of a word less `amount`, which fits in seven bits: no borrow crosses a byte.
GPU_DEVICE int lessEach(std::uint32_t bytes, std::uint32_t amount) {
  return static_cast<int>((bytes + (0x80U - amount) * 0x01010101U) ^ 0x80808080U);
}

template <>
struct Stored<0> {  // f32
  static constexpr bool kQuantized = false;
  GPU_MEMBER static float at(const std::byte* data, std::int64_t i) { return reinterpret_cast<const float*>(data)[i]; }
  GPU_MEMBER static void load8(const std::byte* data, std::int64_t i, float (&v)[8]) {
    const float4 a = *reinterpret_cast<const float4*>(data + 4 * i);
    const float4 b = *reinterpret_cast<const float4*>(data + 4 * i + 16);
    v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
    v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
  }
};

template <>
struct Stored<1> {  // f16
  static constexpr bool kQuantized = false;
  GPU_MEMBER static float at(const std::byte* data, std::int64_t i) { return halfAt(data, i); }
  GPU_MEMBER static void load8(const std::byte* data, std::int64_t i, float (&v)[8]) {
    const uint4 words = *reinterpret_cast<const uint4*>(data + 2 * i);
    const std::uint32_t pairs[4] = {words.x, words.y, words.z, words.w};
    GPU_UNROLL
    for (int p = 0; p < 4; ++p) {
      v[2 * p] = halfToFloatFast(static_cast<std::uint16_t>(pairs[p] & 0xFFFFU));
      v[2 * p + 1] = halfToFloatFast(static_cast<std::uint16_t>(pairs[p] >> 16));
    }
  }
};

template <>
struct Stored<30> {  // bf16
  static constexpr bool kQuantized = false;
  GPU_MEMBER static float at(const std::byte* data, std::int64_t i) {
    return bfloatToFloat(reinterpret_cast<const std::uint16_t*>(data)[i]);
  }
  GPU_MEMBER static void load8(const std::byte* data, std::int64_t i, float (&v)[8]) {
    const uint4 words = *reinterpret_cast<const uint4*>(data + 2 * i);
    const std::uint32_t pairs[4] = {words.x, words.y, words.z, words.w};
    GPU_UNROLL
    for (int p = 0; p < 4; ++p) {
      v[2 * p] = bfloatToFloat(static_cast<std::uint16_t>(pairs[p] & 0xFFFFU));
      v[2 * p + 1] = bfloatToFloat(static_cast<std::uint16_t>(pairs[p] >> 16));
    }
  }
};

template <>
struct Stored<8> {  // q8_0: planes of 32 bytes of quants, 2 of scale
  static constexpr bool kQuantized = true;
  GPU_MEMBER static Block32 load(Planes w, std::int64_t b) {
    const int4 first = *reinterpret_cast<const int4*>(w.data + 32 * b);
    const int4 second = *reinterpret_cast<const int4*>(w.data + 32 * b + 16);
    const float scale = halfAt(w.data + 32 * w.num_blocks, b);
    return {{first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w}, {scale, scale}, 0.0F};
  }
};

// The low four bits of 16 bytes are elements 0..15, the high ones 16..31.
GPU_DEVICE void loadNibbles(const std::byte* from, std::uint32_t (&low)[4], std::uint32_t (&high)[4]) {
  const uint4 words = *reinterpret_cast<const uint4*>(from);
  const std::uint32_t all[4] = {words.x, words.y, words.z, words.w};
  GPU_UNROLL
  for (int i = 0; i < 4; ++i) {
    low[i] = all[i] & 0x0F0F0F0FU;
    high[i] = all[i] >> 4 & 0x0F0F0F0FU;
  }
}

template <>
struct Stored<2> {  // q4_0: planes of 16 bytes of quants, 2 of scale
  static constexpr bool kQuantized = true;
  GPU_MEMBER static Block32 load(Planes w, std::int64_t b) {
    std::uint32_t low[4];
    std::uint32_t high[4];
    loadNibbles(w.data + 16 * b, low, high);
    const float scale = halfAt(w.data + 16 * w.num_blocks, b);
    Block32 block{{}, {scale, scale}, 0.0F};
    GPU_UNROLL
    for (int i = 0; i < 4; ++i) {
      block.q[i] = lessEach(low[i], 8);
      block.q[4 + i] = lessEach(high[i], 8);
    }
    return block;
  }
};

template <>
struct Stored<3> {  // q4_1: planes of 16 bytes of quants, 4 of scale and minimum
  static constexpr bool kQuantized = true;
  GPU_MEMBER static Block32 load(Planes w, std::int64_t b) {
    std::uint32_t low[4];
    std::uint32_t high[4];
    loadNibbles(w.data + 16 * b, low, high);
    const std::byte* scales = w.data + 16 * w.num_blocks;
    const float scale = halfAt(scales, 2 * b);
    Block32 block{{}, {scale, scale}, halfAt(scales, 2 * b + 1)};
    GPU_UNROLL
    for (int i = 0; i < 4; ++i) {
      block.q[i] = static_cast<int>(low[i]);
      block.q[4 + i] = static_cast<int>(high[i]);
    }
    return block;
  }
};

// The scale and minimum of part 0..7 of the 256 elements of q4_k and q5_k, from their first 16 bytes.
GPU_DEVICE void loadKScale(const uint4& head, int part, float& d, float& m) {
  // Six bits each of scale and minimum: parts 0..3 whole in bytes 0..3 and 4..7, parts 4..7 with their low four bits
  // in bytes 8..11 and their upper two above those of the first four.
  const int at = part % 4 * 8;
  const std::uint32_t scale_byte = head.y >> at & 0xFFU;
  const std::uint32_t min_byte = head.z >> at & 0xFFU;
  const std::uint32_t both = head.w >> at & 0xFFU;
  const std::uint32_t scale = part < 4 ? scale_byte & 63U : (both & 15U) | scale_byte >> 6 << 4;
  const std::uint32_t min = part < 4 ? min_byte & 63U : both >> 4 | min_byte >> 6 << 4;
  d = halfToFloatFast(static_cast<std::uint16_t>(head.x & 0xFFFFU)) * static_cast<float>(scale);
  m = halfToFloatFast(static_cast<std::uint16_t>(head.x >> 16)) * static_cast<float>(min);
}

GPU_DEVICE void loadWords8(const std::byte* from, std::uint32_t (&words)[8]) {
  const uint4 first = *reinterpret_cast<const uint4*>(from);
  const uint4 second = *reinterpret_cast<const uint4*>(from + 16);
  words[0] = first.x, words[1] = first.y, words[2] = first.z, words[3] = first.w;
  words[4] = second.x, words[5] = second.y, words[6] = second.z, words[7] = second.w;
}

template <>
struct Stored<12> {  // q4_k: planes of 128 bytes of quants and 16 of scales for each 8 of our blocks
  static constexpr bool kQuantized = true;
  GPU_MEMBER static Block32 load(Planes w, std::int64_t b) {
    const std::int64_t super = b / 8;
    const int part = static_cast<int>(b % 8);
    std::uint32_t words[8];
    loadWords8(w.data + 128 * super + part / 2 * 32, words);
    float d;
    float m;
    loadKScale(*reinterpret_cast<const uint4*>(w.data + 16 * w.num_blocks + 16 * super), part, d, m);
    Block32 block{{}, {d, d}, -m};
    GPU_UNROLL
    for (int i = 0; i < 8; ++i) block.q[i] = static_cast<int>(words[i] >> (part % 2 * 4) & 0x0F0F0F0FU);
    return block;
  }
};

template <>
struct Stored<13> {  // q5_k: planes of 128 bytes of low bits, 32 of high bits and 16 of scales for each 8 blocks
  static constexpr bool kQuantized = true;
  GPU_MEMBER static Block32 load(Planes w, std::int64_t b) {
    const std::int64_t super = b / 8;
    const int part = static_cast<int>(b % 8);
    std::uint32_t low[8];
    std::uint32_t high[8];
    loadWords8(w.data + 128 * super + part / 2 * 32, low);
    loadWords8(w.data + 16 * w.num_blocks + 32 * super, high);
    float d;
    float m;
    loadKScale(*reinterpret_cast<const uint4*>(w.data + 20 * w.num_blocks + 16 * super), part, d, m);
    Block32 block{{}, {d, d}, -m};
    GPU_UNROLL
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t four = low[i] >> (part % 2 * 4) & 0x0F0F0F0FU;
      block.q[i] = static_cast<int>(four | (high[i] >> part & 0x01010101U) << 4);
    }
    return block;
  }
};

template <>
struct Stored<14> {  // q6_k: planes of 128 bytes of low bits, 64 of high bits, 16 scales and 2 of d for each 8 blocks
  static constexpr bool kQuantized = true;
  GPU_MEMBER static Block32 load(Planes w, std::int64_t b) {
    const std::int64_t super = b / 8;
    const std::int64_t num_supers = w.num_blocks / 8;
    const int half = static_cast<int>(b % 8) / 4;
    const int row = static_cast<int>(b % 4);
    const std::byte* low = w.data + 128 * super + 64 * half + 32 * (row % 2);
    const std::byte* high = w.data + 128 * num_supers + 64 * super + 32 * half;
    const std::byte* scales = w.data + 192 * num_supers + 16 * super + 8 * half + 2 * row;
    const float d = halfAt(w.data + 208 * num_supers, super);
    Block32 block{{},
                  {d * static_cast<float>(static_cast<std::int8_t>(scales[0])),
                   d * static_cast<float>(static_cast<std::int8_t>(scales[1]))},
                  0.0F};
    GPU_UNROLL
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t four = reinterpret_cast<const std::uint32_t*>(low)[i] >> (row / 2 * 4) & 0x0F0F0F0FU;
      const std::uint32_t two = reinterpret_cast<const std::uint32_t*>(high)[i] >> (row * 2) & 0x03030303U;
      block.q[i] = lessEach(four | two << 4, 32);
    }
    return block;
  }
};

GPU_DEVICE float valueOf(const Block32& block, int i) {
  const int byte = static_cast<std::int8_t>(static_cast<std::uint32_t>(block.q[i / 4]) >> (i % 4 * 8) & 0xFFU);
  return block.scale[i / 16] * static_cast<float>(byte) + block.min;
}

// Calls body(Stored<number>{}) for the format; false if there is none such.
template <class Body>
bool forStored(FormatId format, const Body& body) {
  switch (static_cast<std::uint32_t>(format)) {
    case 0:
      return body(Stored<0>{}), true;
    case 1:
      return body(Stored<1>{}), true;
    case 2:
      return body(Stored<2>{}), true;
    case 3:
      return body(Stored<3>{}), true;
    case 8:
      return body(Stored<8>{}), true;
    case 12:
      return body(Stored<12>{}), true;
    case 13:
      return body(Stored<13>{}), true;
    case 14:
      return body(Stored<14>{}), true;
    case 30:
      return body(Stored<30>{}), true;
    default:
      return false;
  }
}

}  // namespace inferoscope::kernels::cuda
