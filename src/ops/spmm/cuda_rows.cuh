// SPDX-License-Identifier: Apache-2.0
// Who takes which row on a CUDA device.
//
// Rows of pattern CSR are cut by the chunks that the pattern carries: rows and entries, taken together, in equal parts.
// The rows that end in a chunk are its block's, so that blocks have even work whatever the degrees; a small graph's
// chunks have several blocks each. A block takes its hubs with all its threads, then its warps take long rows, then
// short ones, each as it becomes free.
#pragma once

#include "ops/spmm/cuda_columns.cuh"

#include <algorithm>

namespace bitgraph::spmm_cuda {

constexpr EdgeOffset long_row = 64;
constexpr EdgeOffset hub_row = 1024;
constexpr NodeId no_row = ~NodeId{0};

/// A chunk has at most that many rows, and so many of them at most are long: the first may have begun before it.
constexpr unsigned most_long_rows = csr_chunk_items / long_row + 1;
constexpr unsigned most_hubs = csr_chunk_items / hub_row + 1;

/// What the threads of a block know of its rows.
struct BlockRows {
  NodeId first;
  NodeId end;
  unsigned num_hubs;
  unsigned num_long;
  unsigned next;  ///< what a warp takes next: a long row, or some short ones behind those
  NodeId hubs[most_hubs];
  NodeId long_rows[most_long_rows];
};

/// The part of a chunk's rows that is this block's: blockIdx.x = chunk * parts + part.
struct Share {
  unsigned part;
  unsigned parts;

  __device__ explicit Share(unsigned blocks_a_chunk) : part(blockIdx.x % blocks_a_chunk), parts(blocks_a_chunk) {}
};

__device__ inline EdgeOffset row_length(const CsrPatternView& a, NodeId row) {
  return __ldg(a.row_ptr + row + 1) - __ldg(a.row_ptr + row);
}

/// Finds the rows of the block: those that end in its chunk, of the longer ones only its share.
__device__ inline void find_rows(BlockRows& rows, const CsrPatternView& a, Share share) {
  const unsigned chunk = blockIdx.x / share.parts;
  const NodeId first = __ldg(a.chunk_row + chunk);
  const NodeId end = __ldg(a.chunk_row + chunk + 1);
  if (threadIdx.x == 0) {
    rows.first = first;
    rows.end = end;
    rows.num_hubs = 0;
    rows.num_long = 0;
    rows.next = 0;
  }
  __syncthreads();
  for (std::size_t row = std::size_t{first} + threadIdx.x; row < end; row += block_threads) {
    const EdgeOffset length = row_length(a, static_cast<NodeId>(row));
    if (length < long_row || row % share.parts != share.part) continue;
    if (length >= hub_row) {
      rows.hubs[atomicAdd(&rows.num_hubs, 1U)] = static_cast<NodeId>(row);
    } else {
      rows.long_rows[atomicAdd(&rows.num_long, 1U)] = static_cast<NodeId>(row);
    }
  }
  __syncthreads();
}

/// The next thing to do, for a warp.
__device__ inline unsigned take(BlockRows& rows) {
  unsigned task = 0;
  if (threadIdx.x % 32 == 0) task = atomicAdd(&rows.next, 1U);
  return __shfl_sync(full_warp, task, 0);
}

/// Blocks a chunk, so that there are some for every multiprocessor.
inline unsigned blocks_a_chunk(NodeId num_chunks) {
  constexpr unsigned enough = 1024;
  return num_chunks >= enough ? 1 : std::min(32U, (enough + num_chunks - 1) / std::max(num_chunks, 1U));
}

}  // namespace bitgraph::spmm_cuda
