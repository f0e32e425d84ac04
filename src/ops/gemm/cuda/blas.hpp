// SPDX-License-Identifier: Apache-2.0
// cuBLAS, found when the program runs: it is not linked, and where it is not there a kernel of our own multiplies.
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/bfloat16.hpp>

#include <string>

namespace bitgraph::cuda_blas {

/// A matrix as memory has it, row by row.
struct Matrix {
  const float* data;
  std::size_t stride;
  bool transpose;
};

/// out (m x n) = alpha op(A) op(B) + beta out in float32, on the device's stream, sums in an order that depends on the
/// shapes alone. False where there is no cuBLAS or a size does not fit its int32: nothing was done. Throws internal
/// where cuBLAS failed.
bool multiply(const Device& device, float* out, std::size_t out_stride, const Matrix& a, const Matrix& b, std::size_t m,
              std::size_t n, std::size_t k, float alpha, float beta);

/// An output of float32, or of bfloat16.
struct Output {
  void* data;
  std::size_t stride;
  bool is_bfloat16;
};

/// Rows of bfloat16.
struct Bfloats {
  const Bfloat16* data;
  std::size_t stride;
};

/// out (m x n) = A (m x k) B^T, B n x k, with sums in float32: see multiply.
bool multiply_bfloat16(const Device& device, const Output& out, const Bfloats& a, const Bfloats& b, std::size_t m,
                       std::size_t n, std::size_t k);

/// "13.0.2"; empty where there is none.
[[nodiscard]] std::string version(const Device& device);

}  // namespace bitgraph::cuda_blas
