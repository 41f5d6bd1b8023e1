// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/kernel.h"

#include <string>

// The catalog rows of this module, one function a file, and what several of them use.
namespace inferoscope::kernels::cuda {

Kernel<EmbedArgs> embedRows();
Kernel<RmsNormArgs> rmsNormBlock();
Kernel<RmsNormArgs> rmsNormAdding();
Kernel<LinearArgs> linearGemv();
Kernel<LinearArgs> linearCublas();
Kernel<RopeArgs> ropePairs();
Kernel<KvAppendArgs> kvAppendWarp();
Kernel<AttentionArgs> attentionFlash();
Kernel<AttentionArgs> attentionNaive();
Kernel<SwiGluArgs> swiGluElements();
Kernel<AddArgs> addElements();
Kernel<SampleArgs> sampleRows();

// kCuda, or kCudaEmulation in a build for the CPU.
inline constexpr Device kThisDevice =
#if defined(__CUDACC__)
    Device::kCuda;
#else
    Device::kCudaEmulation;
#endif

template <class Args>
std::string supportsAll(const Args&) {
  return {};
}

template <class Args>
std::size_t noScratch(const Args&, int) {
  return 0;
}

inline int ceilDiv(int a, int b) {
  return (a + b - 1) / b;
}
inline std::int64_t ceilDiv(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Parts of a kernel's scratch memory, one after the other.
class Scratch {
 public:
  explicit Scratch(std::byte* begin) : m_begin(begin) {}
  template <class T>
  T* take(std::int64_t count) {
    constexpr std::size_t kAlignment = 256;
    auto* part = reinterpret_cast<T*>(m_begin == nullptr ? nullptr : m_begin + m_used);
    m_used += (static_cast<std::size_t>(count) * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return part;
  }
  std::size_t usedBytes() const { return m_used; }

 private:
  std::byte* m_begin;
  std::size_t m_used = 0;
};

}  // namespace inferoscope::kernels::cuda
