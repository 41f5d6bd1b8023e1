// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// The words of gpu.h, for a CPU. See there for what each means.

#include "kernels/cuda/emulation/block.h"
#include "kernels/cuda/emulation/stream.h"
#include "kernels/half.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <type_traits>

#define GPU_KERNEL static
#define GPU_DEVICE [[maybe_unused]] static
#define GPU_MEMBER
#define GPU_UNROLL
#define GPU_SHARED(Type, name)                            \
  auto& name = *static_cast<std::type_identity_t<Type>*>( \
      ::inferoscope::kernels::cuda::emulation::Block::current().shared({__FILE__, __LINE__}, sizeof(Type)))
#define GPU_DYNAMIC_SHARED(Type, name) \
  Type* name = static_cast<Type*>(::inferoscope::kernels::cuda::emulation::Block::current().dynamicShared())

namespace inferoscope::kernels::cuda {

using Stream = emulation::Stream*;

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  std::uint32_t x, y, z, w;
};
struct alignas(16) int4 {
  std::int32_t x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(8) uint2 {
  std::uint32_t x, y;
};

template <class... Params, class... Args>
void launch(void (*kernel)(Params...), Dim3 grid, Dim3 block, std::size_t shared_bytes, Stream stream, Args... args) {
  stream->launch({.grid = grid, .block = block, .shared_bytes = shared_bytes, .body = [=] {
                    kernel(static_cast<Params>(args)...);
                  }});
}

// The place of the caller, as a default argument.
#define GPU_SITE emulation::Site site = {__builtin_FILE(), __builtin_LINE()}

inline void syncBlock(GPU_SITE) {
  emulation::Block::current().syncBlock(site);
}

inline void syncWarp(GPU_SITE) {
  emulation::Block::current().syncWarp(site);
}

template <class T>
T shuffleFrom(const char* what, T value, int lane, emulation::Site site) {
  emulation::Block& block = emulation::Block::current();
  T got{};
  bool came = true;
  block.meetWarp(what, site, 0xFFFFFFFFU, &value, sizeof(value), [&](const emulation::WarpMeeting& meeting) {
    came = (meeting.arrived >> lane & 1U) != 0;
    std::memcpy(&got, meeting.values[lane], sizeof(got));
  });
  if (!came) block.fail(std::string(what) + " reads lane " + std::to_string(lane) + ", which has ended");
  return got;
}
template <class T>
T shuffleXor(T value, int distance, GPU_SITE) {
  return shuffleFrom("shuffleXor", value, (emulation::Block::current().lane() ^ distance) & 31, site);
}
template <class T>
T shuffle(T value, int lane, GPU_SITE) {
  return shuffleFrom("shuffle", value, lane & 31, site);
}

inline float halfToFloatFast(std::uint16_t half) {
  return halfToFloat(half);
}
inline std::uint16_t floatToHalfFast(float value) {
  return floatToHalf(value);
}

inline void addAtomically(std::uint64_t* to, std::uint64_t value) {
  std::atomic_ref(*to).fetch_add(value, std::memory_order_relaxed);
}

inline int dot4(int a, int b, int c) {
  const auto x = std::bit_cast<std::array<std::int8_t, 4>>(a);
  const auto y = std::bit_cast<std::array<std::int8_t, 4>>(b);
  for (int i = 0; i < 4; ++i) c += x[i] * y[i];
  return c;
}

inline void copyAsync16(void* to, const void* from, int num_valid) {
  emulation::Block::current().copyAsync(to, from, 16, num_valid);
}
inline void commitCopies() {
  emulation::Block::current().commitCopies();
}
template <int kNumPending>
void waitCopies() {
  emulation::Block::current().waitCopies(kNumPending);
}

namespace emulation {
void loadMatrices(std::uint32_t (&to)[4], const void* row, bool transposed, Site site);
void multiplyAdd(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1, Site site);
}  // namespace emulation

inline void loadMatrices(std::uint32_t (&to)[4], const void* row, GPU_SITE) {
  emulation::loadMatrices(to, row, false, site);
}
inline void loadMatricesTransposed(std::uint32_t (&to)[4], const void* row, GPU_SITE) {
  emulation::loadMatrices(to, row, true, site);
}
inline void multiplyAdd(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1, GPU_SITE) {
  emulation::multiplyAdd(d, a, b0, b1, site);
}

#undef GPU_SITE

}  // namespace inferoscope::kernels::cuda
