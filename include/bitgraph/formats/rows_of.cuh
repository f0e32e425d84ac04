// SPDX-License-Identifier: Apache-2.0
// Which row an entry is of, or a tile: for kernels that share entries out evenly.
#pragma once

#include <bitgraph/core/kernel_loop.cuh>
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
    const NodeId passed = __popc(__ballot_sync(full_warp, starts_before));
    low += passed * stride;
    high = min(high, low + stride - 1);
  }
  return low;
}

/// The rows of neighbouring entries, in shared memory: a block of kernel_threads threads looks them up together.
template <unsigned size>
struct RowTable {
  NodeId row[size];  ///< of entries begin, begin + 1, ...

  /// Of entries [begin, end), at least one and at most `size` of them.
  __device__ void find(const EdgeOffset* row_ptr, NodeId num_rows, EdgeOffset begin, EdgeOffset end) {
    if (threadIdx.x < 64) {
      const NodeId found = row_of_by_warp(row_ptr, 0, num_rows - 1, threadIdx.x < 32 ? begin : end - 1);
      if (threadIdx.x % 32 == 0) bound_[threadIdx.x / 32] = found;
    }
    __syncthreads();
    find(row_ptr, bound_[0], bound_[1], begin, end);
  }

  /// The same where the rows are known to be among [first, last]. For all threads, which may read the table then.
  __device__ void find(const EdgeOffset* row_ptr, NodeId first, NodeId last, EdgeOffset begin, EdgeOffset end) {
    constexpr unsigned most_rows_an_entry = 4;
    if (last - first > most_rows_an_entry * size) {  // nearly all of them empty
      for (unsigned n = threadIdx.x; n < end - begin; n += kernel_threads)
        row[n] = row_of(row_ptr, first, last, begin + n);
      __syncthreads();
      return;
    }
    for (unsigned n = threadIdx.x; n < size; n += kernel_threads) row[n] = first;
    __syncthreads();
    for (NodeId r = first + 1 + threadIdx.x; r <= last; r += kernel_threads) {
      const EdgeOffset at = row_ptr[r] - begin;
      if (at < end - begin) atomicMax(&row[at], r);
    }
    __syncthreads();
    spread();
  }

 private:
  static constexpr unsigned a_thread = size / kernel_threads;
  static_assert(size % kernel_threads == 0);

  /// Each entry's row is the largest of its own place and those before it.
  __device__ void spread() {
    const unsigned own = threadIdx.x * a_thread;
    NodeId most = 0;
#pragma unroll
    for (unsigned k = 0; k < a_thread; ++k) most = max(most, row[own + k]);
#pragma unroll
    for (unsigned lanes = 1; lanes < 32; lanes *= 2) {
      const NodeId before = __shfl_up_sync(full_warp, most, lanes);
      if (threadIdx.x % 32 >= lanes) most = max(most, before);
    }
    if (threadIdx.x % 32 == 31) of_warps_[threadIdx.x / 32] = most;
    most = __shfl_up_sync(full_warp, most, 1);
    if (threadIdx.x % 32 == 0) most = 0;
    __syncthreads();
    for (unsigned w = 0; w < threadIdx.x / 32; ++w) most = max(most, of_warps_[w]);
#pragma unroll
    for (unsigned k = 0; k < a_thread; ++k) row[own + k] = most = max(most, row[own + k]);
    __syncthreads();
  }

  NodeId of_warps_[kernel_threads / 32];
  NodeId bound_[2];
};

}  // namespace bitgraph::detail
