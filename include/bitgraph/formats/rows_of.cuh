// SPDX-License-Identifier: Apache-2.0
// Which row an entry is of, or a tile: for kernels that share entries out evenly.
#pragma once

#include <bitgraph/core/kernel_loop.hpp>
#include <bitgraph/core/types.hpp>

namespace bitgraph::detail {

/// The row of entry e, among the rows [low, high]: the last one that starts at or before it.
__device__ inline NodeId row_of(const EdgeOffset* row_ptr, NodeId low, NodeId high, EdgeOffset e) {
  while (low < high) {
    const NodeId middle = low + (high - low + 1) / 2;
    if (row_ptr[middle] <= e) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// The same, found by a whole warp: 32 rows are looked at together.
__device__ inline NodeId row_of_by_warp(const EdgeOffset* row_ptr, NodeId low, NodeId high, EdgeOffset e) {
  while (low < high) {
    const NodeId stride = (high - low) / 32 + 1;
    const NodeId row = low + (threadIdx.x % 32 + 1) * stride;
    const bool starts_before = row <= high && row_ptr[row] <= e;
    const NodeId passed = __popc(__ballot_sync(whole_warp, starts_before));
    low += passed * stride;
    high = min(high, low + stride - 1);
  }
  return low;
}

}  // namespace bitgraph::detail
