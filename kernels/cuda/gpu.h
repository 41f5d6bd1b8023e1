// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// What kernels are written in: compiled by nvcc for a device, or by any C++ compiler for the emulation. Kernels use
// nothing else: no bare __shared__, no <<<>>>, no inline PTX, no assumption that a warp runs in step.

#include "kernels/half.h"

#include <math.h>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define GPU_KERNEL static __global__
#define GPU_DEVICE static __device__ __forceinline__
#define GPU_MEMBER __device__ __forceinline__
#define GPU_UNROLL _Pragma("unroll")
// A variable of the block; give arrays a name with `using` first.
#define GPU_SHARED(Type, name) __shared__ Type name
#define GPU_DYNAMIC_SHARED(Type, name)                                 \
  extern __shared__ __align__(128) unsigned char gpu_dynamic_shared[]; \
  Type* name = reinterpret_cast<Type*>(gpu_dynamic_shared)

namespace inferoscope::kernels::cuda {

using Dim3 = dim3;
using Stream = cudaStream_t;

template <class... Params, class... Args>
void launch(void (*kernel)(Params...), Dim3 grid, Dim3 block, std::size_t shared_bytes, Stream stream, Args... args) {
  constexpr std::size_t kUsualSharedBytes = 48 << 10;
  if (shared_bytes > kUsualSharedBytes) {
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
  }
  kernel<<<grid, block, shared_bytes, stream>>>(static_cast<Params>(args)...);
}

GPU_DEVICE void syncBlock() {
  __syncthreads();
}
GPU_DEVICE void syncWarp() {
  __syncwarp();
}
// The value of lane ^ distance, of all 32 lanes.
template <class T>
GPU_DEVICE T shuffleXor(T value, int distance) {
  return __shfl_xor_sync(0xFFFFFFFFU, value, distance);
}
template <class T>
GPU_DEVICE T shuffle(T value, int lane) {
  return __shfl_sync(0xFFFFFFFFU, value, lane);
}

GPU_DEVICE float halfToFloatFast(std::uint16_t half) {
  return __half2float(__ushort_as_half(half));
}
GPU_DEVICE std::uint16_t floatToHalfFast(float value) {
  return __half_as_ushort(__float2half_rn(value));
}

// To shared memory.
GPU_DEVICE void addAtomically(std::uint64_t* to, std::uint64_t value) {
  static_assert(sizeof(unsigned long long) == sizeof(value));
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

// c + the dot product of four signed bytes.
GPU_DEVICE int dot4(int a, int b, int c) {
  return __dp4a(a, b, c);
}

// Copies 16 bytes to shared memory, of which the first num_valid (0 or 16) come from `from` and the rest are zero.
// In flight until waitCopies(); before sm_80 an ordinary copy.
GPU_DEVICE void copyAsync16(void* to, const void* from, int num_valid) {
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(num_valid) : "memory");
#else
  *static_cast<uint4*>(to) = num_valid == 16 ? *static_cast<const uint4*>(from) : uint4{0, 0, 0, 0};
#endif
}
GPU_DEVICE void commitCopies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits for this thread's copies but those of the last kNumPending commits.
template <int kNumPending>
GPU_DEVICE void waitCopies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kNumPending) : "memory");
#endif
}

// Four 8x8 matrices of 2-byte elements from shared memory: lane i brings the address of row i % 8 of matrix i / 8, and
// gets elements 2 * (lane % 4) and the next of row lane / 4 of each.
GPU_DEVICE void loadMatrices(std::uint32_t (&to)[4], const void* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
// The same, each matrix transposed.
GPU_DEVICE void loadMatricesTransposed(std::uint32_t (&to)[4], const void* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// d[16 x 8] += a[16 x 16] * b[16 x 8], halves with float sums, spread over the warp as PTX says of m16n8k16: with
// g = lane / 4 and t = lane % 4, a = {(g, 2t..), (g + 8, 2t..), (g, 2t + 8..), (g + 8, 2t + 8..)},
// b = {(2t.., g), (2t + 8.., g)}, d = {(g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)}.
GPU_DEVICE void multiplyAdd(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else  // sm_75 has half of it
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(b0));
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[2]), "r"(a[3]), "r"(b1));
#endif
}

}  // namespace inferoscope::kernels::cuda

#else
#include "kernels/cuda/emulation/gpu_emulation.h"
#endif

namespace inferoscope::kernels::cuda {

// Two halves in a register, the first in the low bits.
GPU_DEVICE std::uint32_t packHalves(float first, float second) {
  return std::uint32_t{floatToHalfFast(first)} | std::uint32_t{floatToHalfFast(second)} << 16;
}

GPU_DEVICE float bfloatToFloat(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value;
  memcpy(&value, &wide, sizeof(value));
  return value;
}

template <class T>
GPU_DEVICE T warpSum(T value) {
  for (int distance = 16; distance > 0; distance /= 2) value += shuffleXor(value, distance);
  return value;
}
GPU_DEVICE float warpMax(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value = fmaxf(value, shuffleXor(value, distance));
  return value;
}

// Over a block of at most 1024 threads, whole warps; everyone gets the result, and may call it again at once.
template <class T, class Combine>
GPU_DEVICE T blockReduce(T value, T neutral, const Combine& combine) {
  using Parts = T[32];
  GPU_SHARED(Parts, parts);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int num_warps = static_cast<int>(blockDim.x) / 32;
  value = combine(value);
  if (lane == 0) parts[warp] = value;
  syncBlock();
  const T all = combine(lane < num_warps ? parts[lane] : neutral);
  syncBlock();  // all have read before parts is written again
  return all;
}

struct WarpSum {
  template <class T>
  GPU_MEMBER T operator()(T value) const {
    return warpSum(value);
  }
};
struct WarpMax {
  GPU_MEMBER float operator()(float value) const { return warpMax(value); }
};

template <class T>
GPU_DEVICE T blockSum(T value) {
  return blockReduce(value, T{0}, WarpSum{});
}
GPU_DEVICE float blockMax(float value) {
  return blockReduce(value, -INFINITY, WarpMax{});
}

}  // namespace inferoscope::kernels::cuda
