// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/planes.h"

#include <array>
#include <string>
#include <vector>

namespace inferoscope::kernels::cuda {
namespace {

// A part of a stored block that becomes a plane.
struct Part {
  int offset;
  int bytes;
};

// In the order of their planes; none: the blocks stay as they are.
std::vector<Part> partsOf(FormatId format) {
  switch (static_cast<std::uint32_t>(format)) {
    case 2:  // q4_0: scale, quants
      return {{2, 16}, {0, 2}};
    case 3:  // q4_1: scale and minimum, quants
      return {{4, 16}, {0, 4}};
    case 8:  // q8_0: scale, quants
      return {{2, 32}, {0, 2}};
    case 12:  // q4_k: d, dmin and packed scales, quants
      return {{16, 128}, {0, 16}};
    case 13:  // q5_k: d, dmin and packed scales, high bits, quants
      return {{48, 128}, {16, 32}, {0, 16}};
    case 14:  // q6_k: low bits, high bits, scales, d
      return {{0, 128}, {128, 64}, {192, 16}, {208, 2}};
    default:
      return {};
  }
}

}  // namespace

Layout layoutOf(FormatId format) {
  return partsOf(format).empty() ? Layout::kRows : Layout::kPlanes;
}

void repack(const WeightMatrix& shape, std::int64_t first_block, std::span<const std::byte> blocks, WritePlane write,
            void* context) {
  const Format& format = formatOf(shape.format);
  const std::vector<Part> parts = partsOf(shape.format);
  if (parts.empty()) return write(context, first_block * format.block_bytes, blocks);

  const std::int64_t total = std::int64_t{shape.num_rows} * shape.num_cols / format.block_elems;
  const std::size_t count = blocks.size() / static_cast<std::size_t>(format.block_bytes);
  std::int64_t plane = 0;
  for (const Part& part : parts) {
    const auto bytes = static_cast<std::size_t>(part.bytes);
    std::vector<std::byte> gathered(count * bytes);
    for (std::size_t b = 0; b < count; ++b) {
      std::memcpy(&gathered[b * bytes], &blocks[b * static_cast<std::size_t>(format.block_bytes) + part.offset], bytes);
    }
    write(context, plane + first_block * part.bytes, gathered);
    plane += total * part.bytes;
  }
}

std::string whyNoPlanes(const WeightMatrix& w) {
  const Format* format = findFormat(w.format);
  if (format == nullptr || !forStored(w.format, [](auto) {})) {
    return std::string(format == nullptr ? "this format" : format->name) + " has no CUDA kernel";
  }
  if (w.layout != layoutOf(w.format)) return "its rows lie as another device wants them";
  if (w.num_cols % format->block_elems == 0) return {};
  return std::string(format->name) + " needs rows of a multiple of " + std::to_string(format->block_elems) +
         " elements, not " + std::to_string(w.num_cols);
}

}  // namespace inferoscope::kernels::cuda
