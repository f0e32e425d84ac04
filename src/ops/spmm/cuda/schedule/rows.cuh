// SPDX-License-Identifier: Apache-2.0
// Row schedule on a CUDA device: which threads process which row.
//
// The pattern carries chunks that cut its rows as merge path does: each chunk has the same number of rows plus
// entries. A block processes the rows that end in a few chunks (block_chunks), so blocks have equal work for all
// degrees. In a small graph several blocks share the rows of these chunks. A block first processes its hubs with all
// its threads. Then its warps take long rows, then short ones, each warp as it becomes free.
#pragma once

#include <bitgraph/core/kernel.cuh>
#include <bitgraph/formats/views.hpp>

#include "ops/spmm/cuda/block.hpp"
#include "ops/spmm/cuda/plan.hpp"

#include <algorithm>

namespace bitgraph::spmm_cuda {

constexpr EdgeOffset hub_row = cuda_spmm_tuning().vote.hub_row;

/// Chunks of a block, and their rows and entries. So many rows end in them at most, and so many of those at most are
/// long: the first may have begun before.
constexpr unsigned block_chunks = cuda_spmm_tuning().vote.block_chunks;
constexpr unsigned block_items = block_chunks * csr_chunk_items;
constexpr unsigned most_long_rows = block_items / long_row + 1;
constexpr unsigned most_hubs = block_items / hub_row + 1;

/// What the threads of a block know of its rows. Short ones are not listed here.
struct BlockRows {
  NodeId first;
  NodeId end;
  unsigned num_hubs;
  unsigned num_long;
  unsigned next;  ///< the long row that a warp takes next
  NodeId hubs[most_hubs];
  NodeId long_rows[most_long_rows];
};

/// The part of the rows of some chunks that is this block's: blockIdx.x / parts says which chunks.
struct Share {
  unsigned part;
  unsigned parts;

  __device__ explicit Share(unsigned all) : part(blockIdx.x % all), parts(all) {}
};

__device__ inline EdgeOffset row_length(const CsrPatternView& a, NodeId row) {
  return __ldg(a.row_ptr + row + 1) - __ldg(a.row_ptr + row);
}

/// Finds the rows of the block: those that end in its chunks, of the longer ones only its share.
__device__ inline void find_rows(BlockRows& rows, const CsrPatternView& a, Share share) {
  const NodeId chunk = blockIdx.x / share.parts * block_chunks;
  const NodeId first = __ldg(a.chunk_row + chunk);
  const NodeId end = __ldg(a.chunk_row + min(chunk + block_chunks, a.num_chunks));
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

/// The next long row, for a warp; num_long or more behind the last.
__device__ inline unsigned take(BlockRows& rows) {
  unsigned task = 0;
  if (threadIdx.x % 32 == 0) task = atomicAdd(&rows.next, 1U);
  return __shfl_sync(full_warp, task, 0);
}

/// The block's share of short rows, those of one length side by side, so that a warp's rows end together.
struct ShortRows {
  static constexpr unsigned class_width = cuda_spmm_tuning().vote.class_width;
  static constexpr unsigned num_classes = long_row / class_width + 1;

  unsigned size;
  unsigned next_of_class[num_classes];
  std::uint16_t row[block_items];  ///< from the block's first on
};

__device__ inline void sort_short_rows(ShortRows& sorted, const BlockRows& rows, const CsrPatternView& a, Share share) {
  if (threadIdx.x < ShortRows::num_classes) sorted.next_of_class[threadIdx.x] = 0;
  __syncthreads();
  const auto for_own = [&](const auto& use) {
    for (std::size_t row = std::size_t{rows.first} + threadIdx.x; row < rows.end; row += block_threads) {
      const EdgeOffset length = row_length(a, static_cast<NodeId>(row));
      if (length >= long_row || row % share.parts != share.part) continue;
      use(static_cast<unsigned>(row - rows.first),
          static_cast<unsigned>(length + ShortRows::class_width - 1) / ShortRows::class_width);
    }
  };
  for_own([&](unsigned, unsigned its_class) { atomicAdd(&sorted.next_of_class[its_class], 1U); });
  __syncthreads();
  if (threadIdx.x < 32) {  // the longest first: a class begins behind all longer ones
    const unsigned lane = threadIdx.x;
    const unsigned count = lane < ShortRows::num_classes ? sorted.next_of_class[lane] : 0;
    unsigned from_here = count;
    for (unsigned step = 1; step < 32; step *= 2) {
      const unsigned other = __shfl_down_sync(full_warp, from_here, step);
      if (lane + step < 32) from_here += other;
    }
    if (lane == 0) sorted.size = from_here;
    if (lane < ShortRows::num_classes) sorted.next_of_class[lane] = from_here - count;
  }
  __syncthreads();
  for_own([&](unsigned row, unsigned its_class) {
    sorted.row[atomicAdd(&sorted.next_of_class[its_class], 1U)] = static_cast<std::uint16_t>(row);
  });
  __syncthreads();
}

/// How the chunks of a pattern are given to blocks: some of them to one, or one's to several, so that there are blocks
/// for every multiprocessor.
struct Blocks {
  unsigned parts;
  unsigned count;

  explicit Blocks(const CsrPatternView& a) {
    constexpr unsigned enough = cuda_spmm_tuning().vote.enough_blocks;
    constexpr unsigned most_parts = cuda_spmm_tuning().vote.most_parts;
    const unsigned groups = (a.num_chunks + block_chunks - 1) / block_chunks;
    parts = groups >= enough ? 1 : std::min(most_parts, (enough + groups - 1) / std::max(groups, 1U));
    count = groups * parts;
  }
};

}  // namespace bitgraph::spmm_cuda
