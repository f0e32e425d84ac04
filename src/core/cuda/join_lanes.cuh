// SPDX-License-Identifier: Apache-2.0
// Sums of a row that several lanes of a warp have parts of become sums of the whole row, of which each lane has some.
#pragma once

#include <bitgraph/core/kernel.cuh>

#include <cstdint>

namespace bitgraph {

/// Some consecutive sums of a row, which a lane ends with.
template <unsigned Count, class Sum = std::uint32_t>
struct RowSums {
  static constexpr unsigned count = Count;

  Sum sum[Count];
  unsigned first = 0;  ///< of the part's features
  bool writes = true;  ///< some other lane has the same
};

/// Joins the sums of the lanes `Step`, 2 `Step`, ... apart within a warp. Each lane ends with a share of them, of at
/// least `Least`.
template <unsigned Step, unsigned Least, unsigned Count, class Sum>
__device__ auto join_lanes(RowSums<Count, Sum> sums) {
  if constexpr (Step >= 32) {
    return sums;
  } else if constexpr (Count / 2 < Least) {
#pragma unroll
    for (Sum& sum : sums.sum) sum += __shfl_xor_sync(full_warp, sum, Step);
    sums.writes = sums.writes && (threadIdx.x & Step) == 0;
    return join_lanes<2 * Step, Least>(sums);
  } else {
    const bool upper = (threadIdx.x & Step) != 0;
    RowSums<Count / 2, Sum> half;
    half.first = sums.first + (upper ? Count / 2 : 0);
    half.writes = sums.writes;
#pragma unroll
    for (unsigned n = 0; n < Count / 2; ++n) {
      const Sum kept = upper ? sums.sum[n + Count / 2] : sums.sum[n];
      const Sum given = upper ? sums.sum[n] : sums.sum[n + Count / 2];
      half.sum[n] = kept + __shfl_xor_sync(full_warp, given, Step);
    }
    return join_lanes<2 * Step, Least>(half);
  }
}

/// The first of the sums that a lane will end with, known beforehand.
template <unsigned Step, unsigned Least, unsigned Count>
[[nodiscard]] __device__ unsigned first_joined() {
  unsigned first = 0, count = Count;
#pragma unroll
  for (unsigned step = Step; step < 32 && count / 2 >= Least; step *= 2) {
    count /= 2;
    if ((threadIdx.x & step) != 0) first += count;
  }
  return first;
}

}  // namespace bitgraph
