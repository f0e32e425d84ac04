// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/views.hpp>

namespace bitgraph::cuda_formats {

/// CsrPatternView::chunk_row of chunk c: where the diagonal c * csr_chunk_items crosses the merge path of row ends and
/// entries (Merrill and Garland 2016). O(log nrows).
[[nodiscard]] __device__ inline NodeId csr_chunk_row(EdgeOffset c, NodeId nrows, EdgeOffset nvals,
                                                     const EdgeOffset* row_ptr) {
  const EdgeOffset diagonal = min(c * csr_chunk_items, EdgeOffset{nrows} + nvals);
  EdgeOffset low = diagonal > nvals ? diagonal - nvals : 0;
  EdgeOffset high = min(diagonal, EdgeOffset{nrows});
  while (low < high) {
    const EdgeOffset middle = (low + high) / 2;
    if (row_ptr[middle + 1] <= diagonal - middle - 1) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return static_cast<NodeId>(low);
}

}  // namespace bitgraph::cuda_formats
