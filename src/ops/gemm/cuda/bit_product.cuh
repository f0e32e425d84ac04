// SPDX-License-Identifier: Apache-2.0
// The matrix instruction for bits (core/cuda/matrix_products.cuh), of words of 64 bits: a step has 256 columns, four
// words of a row, of which each thread of a quad has one.
#pragma once

#include "core/cuda/matrix_products.cuh"

#include <cstdint>

namespace bitgraph::gemm_cuda {

/// A thread's words of two rows eight apart, for one instruction: those of X, or of X and of what counts of X.
struct RowWords {
  std::uint64_t upper;
  std::uint64_t lower;
};

/// sum += x w. Which bits of a row are which does not matter, as long as X and W agree: a thread has 64 in sequence.
__device__ inline void multiply_add(int (&sum)[4], const RowWords& x, std::uint64_t w) {
  const auto first = [](std::uint64_t two) { return static_cast<std::uint32_t>(two); };
  const auto second = [](std::uint64_t two) { return static_cast<std::uint32_t>(two >> 32); };
  mma::multiply_bits(sum, {first(x.upper), first(x.lower), second(x.upper), second(x.lower)}, first(w), second(w));
}

}  // namespace bitgraph::gemm_cuda
