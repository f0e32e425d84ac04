// SPDX-License-Identifier: Apache-2.0
// Output rows of floats that need not be aligned: a warp stages them side by side in shared memory.
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>

#include <cstddef>

namespace bitgraph::gemm_cuda {

/// A warp's 16 rows, or as many as there are, of an output whose rows follow one another and begin at a multiple of 16
/// bytes.
__device__ inline void store_image(const DenseView<float>& to, std::size_t first_row, const float* image) {
  __syncwarp();
  const auto rows = static_cast<unsigned>(min(to.nrows - first_row, std::size_t{16}));
  const auto size = rows * static_cast<unsigned>(to.stride);
  float* const out = to.data + first_row * to.stride;
  for (unsigned n = 4 * (threadIdx.x % 32); n < size; n += 128) {
    if (n + 4 <= size) {
      __stcs(reinterpret_cast<float4*>(out + n), *reinterpret_cast<const float4*>(image + n));
    } else {
      for (unsigned k = n; k < size; ++k) out[k] = image[k];
    }
  }
  __syncwarp();
}

}  // namespace bitgraph::gemm_cuda
