// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/emulation/gpu_emulation.h"

namespace inferoscope::kernels::cuda::emulation {
namespace {

constexpr std::uint32_t kWholeWarp = 0xFFFFFFFFU;

using HalfPair = std::array<std::uint16_t, 2>;

// What a lane brings to a multiplication, in the layout of PTX's m16n8k16.
struct Operands {
  std::uint32_t a[4];
  std::uint32_t b[2];
};

float element(std::uint32_t pair, int index) {
  return halfToFloat(std::bit_cast<HalfPair>(pair)[index]);
}

Operands operandsOf(const WarpMeeting& meeting, int lane) {
  Operands operands;
  std::memcpy(&operands, meeting.values[lane], sizeof(operands));
  return operands;
}

float elementOfA(const WarpMeeting& meeting, int row, int k) {
  const Operands lane = operandsOf(meeting, row % 8 * 4 + k % 8 / 2);
  return element(lane.a[row / 8 + k / 8 * 2], k % 2);
}

float elementOfB(const WarpMeeting& meeting, int k, int column) {
  const Operands lane = operandsOf(meeting, column * 4 + k % 8 / 2);
  return element(lane.b[k / 8], k % 2);
}

void needWholeWarp(const WarpMeeting& meeting, const char* what) {
  if (meeting.arrived != kWholeWarp)
    Block::current().fail(std::string(what) + " in a warp of which threads have ended");
}

}  // namespace

void multiplyAdd(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1, Site site) {
  Block& block = Block::current();
  const Operands mine{{a[0], a[1], a[2], a[3]}, {b0, b1}};
  block.meetWarp("multiplyAdd", site, kWholeWarp, &mine, sizeof(mine), [&](const WarpMeeting& meeting) {
    needWholeWarp(meeting, "multiplyAdd");
    const int row = block.lane() / 4;
    const int column = block.lane() % 4 * 2;
    for (int i = 0; i < 4; ++i) {
      float sum = d[i];
      for (int k = 0; k < 16; ++k) {
        sum += elementOfA(meeting, row + i / 2 * 8, k) * elementOfB(meeting, k, column + i % 2);
      }
      d[i] = sum;
    }
  });
}

void loadMatrices(std::uint32_t (&to)[4], const void* row, bool transposed, Site site) {
  Block& block = Block::current();
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0) block.fail("loadMatrices from a misaligned row");
  std::array<std::uint16_t, 8> values;
  std::memcpy(values.data(), row, sizeof(values));
  block.meetWarp("loadMatrices", site, kWholeWarp, values.data(), sizeof(values), [&](const WarpMeeting& meeting) {
    needWholeWarp(meeting, "loadMatrices");
    const int line = block.lane() / 4;
    const int pair = block.lane() % 4 * 2;
    for (int matrix = 0; matrix < 4; ++matrix) {
      HalfPair got;
      for (int i = 0; i < 2; ++i) {
        const int from_row = transposed ? pair + i : line;
        const int from_column = transposed ? line : pair + i;
        std::memcpy(&got[i], meeting.values[matrix * 8 + from_row] + from_column * 2, sizeof(got[i]));
      }
      to[matrix] = std::bit_cast<std::uint32_t>(got);
    }
  });
}

}  // namespace inferoscope::kernels::cuda::emulation
