// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/native.h"

namespace inferoscope::kernels::cuda {
namespace {

cublasOperation_t operation(bool transpose) {
  return transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
}

}  // namespace

void Runtime::multiply(const Gemm& gemm) {
  const float zero = 0.0F;
  check(cublasGemmStridedBatchedEx(m_impl->current().blas, operation(gemm.transpose_a), operation(gemm.transpose_b),
                                   gemm.m, gemm.n, gemm.k, &gemm.alpha, gemm.a, CUDA_R_16F, gemm.lda, gemm.stride_a,
                                   gemm.b, CUDA_R_16F, gemm.ldb, gemm.stride_b, &zero, gemm.c, CUDA_R_32F, gemm.ldc,
                                   gemm.stride_c, gemm.batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cuBLAS");
}

}  // namespace inferoscope::kernels::cuda
