// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace inferoscope::kernels {

// How the elements of a tensor are stored. The value is the tensor type number of the GGUF file format,
// so that a new format needs no list of names: its header in quant/ carries its number.
enum class FormatId : std::uint32_t {};

// One stored element type. A row of a tensor is a whole number of blocks; plain types are blocks of one element.
struct Format {
  FormatId id;
  std::string_view name;                                                           // as people write it: "f16", "q4_1"
  int block_elems;                                                                 // elements in a block
  int block_bytes;                                                                 // bytes of a block
  void (*decode)(const std::byte* blocks, float* values, std::int64_t num_elems);  // num_elems % block_elems == 0
  void (*encode)(const float* values, std::byte* blocks, std::int64_t num_elems);  // num_elems % block_elems == 0
  int head_halves = 0;  // 2-byte fields at the start of a block, before its 4-byte words: interleave.h
};

// Every format that exists, in the order of quant/formats.h.
std::span<const Format> formats();

// nullptr if there is none.
const Format* findFormat(FormatId id);
const Format* findFormat(std::string_view name);

// The format must exist.
const Format& formatOf(FormatId id);

// Bytes of num_elems elements; num_elems must be a whole number of blocks.
inline std::int64_t storedBytes(const Format& format, std::int64_t num_elems) {
  return num_elems / format.block_elems * format.block_bytes;
}

}  // namespace inferoscope::kernels
