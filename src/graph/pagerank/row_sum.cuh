// SPDX-License-Identifier: Apache-2.0
// The rows of a pattern CSR without long ones on a CUDA device: a few lanes a row, as many as the mean row fills.
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>

namespace bitgraph {

inline constexpr EdgeOffset longest_short_row = 512;  ///< longer ones want more than a few lanes

/// What a lane adds up of the row of its group: element(j) over every Lanes-th column j, four under way at a time.
template <class S, class T, int Lanes, class Element>
__device__ T lane_sum_of_row(const CsrPatternView& a, NodeId row, Element&& element) {
  constexpr unsigned unroll = 4;
  const EdgeOffset end = __ldg(a.row_ptr + row + 1);
  T sum = S::template identity<T>();
  for (EdgeOffset e = __ldg(a.row_ptr + row) + threadIdx.x % Lanes; e < end; e += unroll * Lanes) {
    NodeId col[unroll];
    for (unsigned n = 0; n < unroll; ++n) col[n] = e + n * Lanes < end ? __ldg(a.col_ind + e + n * Lanes) : a.ncols;
    for (unsigned n = 0; n < unroll; ++n) {
      if (col[n] != a.ncols) sum = S::add(sum, element(col[n]));
    }
  }
  return sum;
}

}  // namespace bitgraph
