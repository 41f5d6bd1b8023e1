// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/gpu.h"
#include "kernels/cuda/queue.h"
#include "kernels/paged_kv.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>

// The paged cache as device code sees it.
namespace inferoscope::kernels::cuda {

inline constexpr std::uint32_t kKvF32 = 0;
inline constexpr std::uint32_t kKvF16 = 1;
inline constexpr std::uint32_t kKvQ8 = 8;

inline constexpr int kLeastTableStride = 32;

// PagedKvView with its indices on the device.
struct DeviceKv {
  std::byte* keys;
  std::byte* values;
  const std::int32_t* block_tables;  // [num_seqs, block_table_stride]
  int block_table_stride;
  int block_size;
  int num_kv_heads;
  int head_dim;
  int vector_bytes;
  int num_seqs;
};

inline DeviceKv onDevice(DeviceQueue& queue, const PagedKvView& kv) {
  // Rows grow by a block now and then. Graphs hold their distance fast, so that is a power of two.
  const auto distance =
      static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(kLeastTableStride, kv.block_table_stride))));
  return {.keys = kv.keys,
          .values = kv.values,
          .block_tables = queue.onDevice(kv.block_tables, kv.num_seqs, kv.block_table_stride, distance),
          .block_table_stride = distance,
          .block_size = kv.block_size,
          .num_kv_heads = kv.num_kv_heads,
          .head_dim = kv.head_dim,
          .vector_bytes = static_cast<int>(kv.vector_bytes),
          .num_seqs = kv.num_seqs};
}

inline std::string whyNoKv(const PagedKvView& kv) {
  const auto number = static_cast<std::uint32_t>(kv.format);
  if (number != kKvF32 && number != kKvF16 && number != kKvQ8) {
    const Format* format = findFormat(kv.format);
    return "a cache of " + std::string(format == nullptr ? "this format" : format->name) + " has no CUDA kernel";
  }
  const int multiple = number == kKvQ8 ? 32 : 8;
  if (kv.head_dim % multiple == 0) return {};
  return "heads of " + std::to_string(kv.head_dim) + " elements are no multiple of " + std::to_string(multiple);
}

// Calls body(std::integral_constant<std::uint32_t, number>{}).
template <class Body>
void forKvFormat(FormatId format, const Body& body) {
  switch (static_cast<std::uint32_t>(format)) {
    case kKvF32:
      return body(std::integral_constant<std::uint32_t, kKvF32>{});
    case kKvF16:
      return body(std::integral_constant<std::uint32_t, kKvF16>{});
    case kKvQ8:
      return body(std::integral_constant<std::uint32_t, kKvQ8>{});
    default:
      return;
  }
}

// As kvOffsetOf(), the one that knows the layout.
GPU_DEVICE std::int64_t slotOffset(const DeviceKv& kv, int seq, int position, int kv_head) {
  const std::int32_t block = kv.block_tables[std::int64_t{seq} * kv.block_table_stride + position / kv.block_size];
  const std::int64_t slot =
      (std::int64_t{block} * kv.num_kv_heads + kv_head) * kv.block_size + position % kv.block_size;
  return slot * kv.vector_bytes;
}

// Eight elements of a stored vector, from one that is a multiple of eight on.
template <std::uint32_t kFormat>
GPU_DEVICE void loadKv8(const std::byte* vector, int first, float (&v)[8]) {
  if constexpr (kFormat == kKvF32) {
    GPU_UNROLL
    for (int i = 0; i < 8; i += 4) {
      const float4 four = *reinterpret_cast<const float4*>(vector + 4 * (first + i));
      v[i] = four.x, v[i + 1] = four.y, v[i + 2] = four.z, v[i + 3] = four.w;
    }
  } else if constexpr (kFormat == kKvF16) {
    const uint4 words = *reinterpret_cast<const uint4*>(vector + 2 * first);
    const std::uint32_t pairs[4] = {words.x, words.y, words.z, words.w};
    GPU_UNROLL
    for (int p = 0; p < 4; ++p) {
      v[2 * p] = halfToFloatFast(static_cast<std::uint16_t>(pairs[p] & 0xFFFFU));
      v[2 * p + 1] = halfToFloatFast(static_cast<std::uint16_t>(pairs[p] >> 16));
    }
  } else {  // blocks of 34 bytes: two are the most that a load may take
    const std::byte* block = vector + first / 32 * 34;
    const float d = halfToFloatFast(*reinterpret_cast<const std::uint16_t*>(block));
    const auto* pairs = reinterpret_cast<const std::uint16_t*>(block + 2 + first % 32);
    GPU_UNROLL
    for (int p = 0; p < 4; ++p) {
      v[2 * p] = d * static_cast<float>(static_cast<std::int8_t>(pairs[p] & 0xFFU));
      v[2 * p + 1] = d * static_cast<float>(static_cast<std::int8_t>(pairs[p] >> 8));
    }
  }
}

}  // namespace inferoscope::kernels::cuda
