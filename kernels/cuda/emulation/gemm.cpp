// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/runtime.h"

#include <cstdint>
#include <string>

namespace inferoscope::kernels::cuda {
namespace {

std::int64_t offsetOf(bool transposed, int ld, int row, int column) {
  return transposed ? row * std::int64_t{ld} + column : column * std::int64_t{ld} + row;
}

void multiplyOne(const Gemm& gemm, int index) {
  const std::uint16_t* a = gemm.a + gemm.stride_a * index;
  const std::uint16_t* b = gemm.b + gemm.stride_b * index;
  float* c = gemm.c + gemm.stride_c * index;
  std::vector<float> row(static_cast<std::size_t>(gemm.k));
  for (int i = 0; i < gemm.m; ++i) {
    for (int k = 0; k < gemm.k; ++k) row[k] = halfToFloat(a[offsetOf(gemm.transpose_a, gemm.lda, i, k)]);
    for (int j = 0; j < gemm.n; ++j) {
      float sum = 0.0F;
      for (int k = 0; k < gemm.k; ++k) sum += row[k] * halfToFloat(b[offsetOf(gemm.transpose_b, gemm.ldb, k, j)]);
      c[j * std::int64_t{gemm.ldc} + i] = gemm.alpha * sum;
    }
  }
}

// What cuBLAS refuses, and what it takes but runs slowly.
void check(const Gemm& gemm) {
  const auto need = [](bool holds, const char* what) {
    if (!holds) throw DeviceError(std::string("matrix product: ") + what);
  };
  const auto aligned = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; };
  need(gemm.m > 0 && gemm.n > 0 && gemm.k > 0 && gemm.batch > 0, "an empty shape");
  need(gemm.lda >= (gemm.transpose_a ? gemm.k : gemm.m), "lda is less than a column of a");
  need(gemm.ldb >= (gemm.transpose_b ? gemm.n : gemm.k), "ldb is less than a column of b");
  need(gemm.ldc >= gemm.m, "ldc is less than a column of c");
  need(aligned(gemm.a) && aligned(gemm.b) && aligned(gemm.c), "a matrix that does not begin at a multiple of 16 bytes");
  need(gemm.lda % 8 == 0 && gemm.ldb % 8 == 0, "columns of a or b that do not begin at multiples of 16 bytes");
  need(gemm.stride_a % 8 == 0 && gemm.stride_b % 8 == 0, "matrices of a batch that do not begin at multiples of 16");
}

}  // namespace

void Runtime::multiply(const Gemm& gemm) {
  check(gemm);
  stream()->enqueue([gemm](emulation::Stream&) {
    for (int index = 0; index < gemm.batch; ++index) multiplyOne(gemm, index);
  });
}

}  // namespace inferoscope::kernels::cuda
