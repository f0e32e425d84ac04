// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of a mesh on a CUDA device: very many rows of few entries each, whose neighbours are near them. A
// block takes consecutive rows and loads their columns into shared memory. Its groups of lanes take two rows at a
// time, so that enough loads of X are in flight. The blocks that run at once are so close together that the rows of X
// they share are fetched from memory once.
#pragma once

#include "ops/spmm/cuda/block.hpp"
#include "ops/spmm/cuda/epilogue/emit.cuh"
#include "ops/spmm/cuda/plan.hpp"
#include "ops/spmm/cuda/schedule/columns.cuh"
#include "ops/spmm/cuda/sum/readers.cuh"

namespace bitgraph::spmm_cuda {

constexpr unsigned mesh_rows = cuda_spmm_tuning().sum.mesh_block_rows;  ///< of a block

/// The rows of a block, from the first on, and their entries.
template <bool Weighted>
struct MeshRows {
  static constexpr unsigned most_entries = mesh_rows * static_cast<unsigned>(mesh_longest_row);

  std::uint16_t begin[mesh_rows + 1];
  NodeId columns[most_entries];
  float scales[Weighted ? most_entries : 1];

  /// Fills this; for a whole block. What does not depend on one another is asked for at once.
  template <class Args>
  __device__ void bring(const Args& args, std::size_t first, unsigned count) {
    const EdgeOffset* const row_ptr = args.a.row_ptr + first;
    const EdgeOffset entry = __ldg(row_ptr);
    const auto entries = static_cast<unsigned>(__ldg(row_ptr + count) - entry);
    if (threadIdx.x <= count) begin[threadIdx.x] = static_cast<std::uint16_t>(__ldg(row_ptr + threadIdx.x) - entry);
    for (unsigned i = threadIdx.x; i < entries; i += block_threads) {
      const NodeId column = stream_in(args.a.col_ind + entry + i);
      columns[i] = column;
      if constexpr (Weighted) scales[i] = __ldg(args.col_scale + column);
    }
    __syncthreads();
  }
};

/// Up to four neighbours of a row, on their way.
template <class Reader, bool Weighted>
struct FourNeighbors {
  typename Reader::Values values[4];
  float scale[4];
  unsigned count;

  /// Those from `at` on of `left`; where there are fewer than four the last one comes again.
  __device__ void fetch(const Reader& reader, const MeshRows<Weighted>& rows, unsigned at, unsigned left) {
    count = min(left, 4U);
    if (count == 0) return;
#pragma unroll
    for (unsigned u = 0; u < 4; ++u) {
      const unsigned i = at + min(u, count - 1);
      values[u] = reader.fetch(rows.columns[i]);
      if constexpr (Weighted) scale[u] = rows.scales[i];
    }
  }
  __device__ void add_to(LaneSums<Reader::chunks>& sum, const Reader& reader) const {
#pragma unroll
    for (unsigned u = 0; u < 4; ++u) {
      if (u >= count) continue;
#pragma unroll
      for (unsigned c = 0; c < Reader::chunks; ++c) {
        if constexpr (Weighted) {
          add(sum.of[c], reader.terms(values[u], scale[u], c));
        } else {
          add(sum.of[c], values[u]);
        }
      }
    }
  }
};

template <unsigned Group, bool Weighted, class Args>
__global__ void __launch_bounds__(block_threads, cuda_spmm_tuning().sum.mesh_blocks)
    spmm_sum_mesh(const __grid_constant__ Args args) {
  using Out = std::remove_cvref_t<decltype(args.out)>;
  using Reader = ReaderOfArgs<Args>;
  constexpr unsigned groups = block_threads / Group;
  constexpr unsigned chunks = Reader::chunks;
  constexpr unsigned at_once = cuda_spmm_tuning().sum.mesh_rows_at_once;
  __shared__ MeshRows<Weighted> rows;
  __shared__ FrameOf<Group, chunks, Out> frame;
  const std::size_t first_row = std::size_t{blockIdx.x} * mesh_rows;
  const auto count = static_cast<unsigned>(min(std::size_t{mesh_rows}, args.a.nrows - first_row));
  frame.fill(args.epilogue, args.out.ncols);
  rows.bring(args, first_row, count);

  const std::size_t first = first_feature<Group, chunks>();
  const Reader reader(args.x, first);
#pragma unroll 1
  for (unsigned r = threadIdx.x / Group; r < mesh_rows; r += at_once * groups) {
    unsigned at[at_once];
    unsigned left[at_once];
    FourNeighbors<Reader, Weighted> four[at_once];
#pragma unroll
    for (unsigned k = 0; k < at_once; ++k) {
      const unsigned own = r + k * groups;
      at[k] = own < count ? rows.begin[own] : 0;
      left[k] = own < count ? rows.begin[own + 1] - at[k] : 0;
      four[k].fetch(reader, rows, at[k], left[k]);
    }
#pragma unroll
    for (unsigned k = 0; k < at_once; ++k) {
      LaneSums<chunks> sum;
      four[k].add_to(sum, reader);
#pragma unroll 1
      while (left[k] > 4) {
        at[k] += 4;
        left[k] -= 4;
        four[k].fetch(reader, rows, at[k], left[k]);
        four[k].add_to(sum, reader);
      }
      const unsigned own = r + k * groups;
      const NodeId row = own < count ? static_cast<NodeId>(first_row + own) : no_row;
#pragma unroll
      for (unsigned c = 0; c < chunks; ++c) {
        if constexpr (is_framed<Out>) {
          if (row != no_row) sum.of[c] = frame.apply(args.epilogue, sum.of[c], row_scale_of(args, row), c);
        }
        emit_sums<Group>(args, row, first + c * chunk_features, sum.of[c]);
      }
    }
  }
}

}  // namespace bitgraph::spmm_cuda
