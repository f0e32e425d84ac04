// SPDX-License-Identifier: Apache-2.0
// Sums of rows that a group of lanes takes by itself, on a CUDA device. Long rows, and rows of uneven length, are
// sum/stream.cuh's.
#pragma once

#include "core/cuda/launch.cuh"
#include "ops/spmm/cuda/block.hpp"
#include "ops/spmm/cuda/epilogue/emit.cuh"
#include "ops/spmm/cuda/schedule/columns.cuh"
#include "ops/spmm/cuda/sum/readers.cuh"

namespace bitgraph::spmm_cuda {

/// Columns and their weights, for a warp.
struct Queue {
  NodeId column[queue_size];
  float scale[queue_size];
};

/// Adds Count neighbours, all of them on their way at once.
template <unsigned Count, class Reader>
__device__ void add_neighbors(float4& sum, const Reader& reader, const NodeId* columns, const float* scales) {
  typename Reader::Values values[Count];
#pragma unroll
  for (unsigned u = 0; u < Count; ++u) values[u] = reader.fetch(columns[u]);
#pragma unroll
  for (unsigned u = 0; u < Count; ++u) add(sum, reader.terms(values[u], scales[u]));
}

/// A warp's row; of the groups of a warp the first one writes it.
template <unsigned Group, class Args>
__device__ void sum_row(const Args& args, NodeId row, std::size_t first, Queue& queue) {
  const unsigned lane = threadIdx.x % 32;
  using Reader = typename ReaderOf<std::remove_cvref_t<decltype(args.x)>>::type;
  const Reader reader(args.x, first);
  RowColumns<decltype(args.a)> columns(args.a, row);
  float4 sum = {0, 0, 0, 0};
  for (unsigned count = columns.refill(queue.column, lane); count != 0; count = columns.refill(queue.column, lane)) {
    for (unsigned i = lane; i < count; i += 32) {
      queue.scale[i] = args.col_scale == nullptr ? 1.0F : __ldg(args.col_scale + queue.column[i]);
    }
    __syncwarp();
    unsigned at = 0;
    for (; at + 8 <= count; at += 8) add_neighbors<8>(sum, reader, queue.column + at, queue.scale + at);
    if (at + 4 <= count) {
      add_neighbors<4>(sum, reader, queue.column + at, queue.scale + at);
      at += 4;
    }
    if (at + 2 <= count) {
      add_neighbors<2>(sum, reader, queue.column + at, queue.scale + at);
      at += 2;
    }
    if (at < count) add_neighbors<1>(sum, reader, queue.column + at, queue.scale + at);
  }
  emit_sums<Group>(args, lane < Group ? row : no_row, first, sum);
}

/// Rows of pattern CSR none of which is long.
template <unsigned Group, class Args>
__global__ void __launch_bounds__(block_threads, row_blocks<ReaderOfArgs<Args>>)
    spmm_sum_short(const __grid_constant__ Args args, bool next_early) {
  using Out = std::remove_cvref_t<decltype(args.out)>;
  constexpr unsigned chunks = ReaderOfArgs<Args>::chunks;
  __shared__ FrameOf<Group, chunks, Out> frame;
  if (next_early) trigger_dependent_launch();
  const std::size_t row = (std::size_t{blockIdx.x} * block_threads + threadIdx.x) / Group;
  const TakenRow taken(args, row < args.a.nrows ? static_cast<NodeId>(row) : no_row);
  SummedRow<Group, Args>(args, taken, frame).emit(args, taken.row, frame);
}

/// Rows of tiles, a warp each.
template <class Args>
__global__ void __launch_bounds__(block_threads) spmm_sum_tiles(const __grid_constant__ Args args) {
  __shared__ Queue queues[block_warps];
  const std::size_t row = std::size_t{blockIdx.x} * block_warps + threadIdx.x / 32;
  if (row < args.a.nrows) {
    sum_row<32>(args, static_cast<NodeId>(row), first_feature<32>(), queues[threadIdx.x / 32]);
  }
}

}  // namespace bitgraph::spmm_cuda
