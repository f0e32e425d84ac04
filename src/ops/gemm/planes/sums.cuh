// SPDX-License-Identifier: Apache-2.0
// Counts of the matrix instructions for bits of compute capability 9.0 become sums: a thread joins the planes of its
// columns in registers.
#pragma once

#include "ops/cuda_store_pair.cuh"

#include <cstddef>
#include <cstdint>

namespace bitgraph::plane_cuda {

/// What a group of four warps has counted for 64 rows of A and `BitColumns` bit columns of X: `Planes` planes of as
/// many octets of columns as fit.
template <unsigned BitColumns, unsigned Planes>
struct PlaneSums {
  static constexpr unsigned rows = 64, octets = BitColumns / (8 * Planes), columns = octets * 8;
  static_assert(octets != 0);

  using Counts = int[BitColumns / 2];

  DenseView<std::int32_t> out;
  std::size_t nrows, ncols;  ///< of the output
  unsigned first_plane = 0;  ///< of X; with one behind the first, sums are added to the output

  /// The sum of column 8 octet + k % 2 of the lane's four, in its first or second row.
  [[nodiscard]] __device__ static int sum_of(const Counts& counts, unsigned octet, unsigned k) {
    int sum = 0;
#pragma unroll
    for (unsigned q = 0; q < Planes; ++q) sum += counts[(octet * Planes + q) * 4 + k] << q;
    return sum;
  }

  __device__ void store(const Counts& counts, std::size_t first_row, std::size_t first_column) const {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const std::size_t i = first_row + warp * 16 + lane / 4, j = first_column + lane % 4 * 2;
    std::int32_t* const to = out.data + i * out.stride + j;
    const bool whole = first_row + rows <= nrows && first_column + columns <= ncols;
    if (whole && takes_pairs(out) && first_plane == 0) return store_pairs(counts, to);
    first_plane == 0 ? store_each<false>(counts, to, i, j) : store_each<true>(counts, to, i, j);
  }

 private:
  /// One instruction a pair.
  __device__ void store_pairs(const Counts& counts, std::int32_t* to) const {
    std::int32_t* const lower = to + 8 * out.stride;
#pragma unroll
    for (unsigned o = 0; o < octets; ++o) {
      store_pair(to + o * 8, sum_of(counts, o, 0), sum_of(counts, o, 1));
      store_pair(lower + o * 8, sum_of(counts, o, 2), sum_of(counts, o, 3));
    }
  }

  template <bool adds>
  __device__ void store_each(const Counts& counts, std::int32_t* to, std::size_t i, std::size_t j) const {
    const auto left = static_cast<int>(min(ncols, j + columns)) - static_cast<int>(j);
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      if (i + half * 8 >= nrows) continue;
      std::int32_t* const row = to + half * 8 * out.stride;
#pragma unroll
      for (unsigned n = 0; n < 2 * octets; ++n) {
        const unsigned column = n / 2 * 8 + n % 2;
        if (static_cast<int>(column) >= left) continue;
        const int sum = sum_of(counts, n / 2, half * 2 + n % 2);
        row[column] = adds ? row[column] + (sum << first_plane) : sum;
      }
    }
  }
};

}  // namespace bitgraph::plane_cuda
