// SPDX-License-Identifier: Apache-2.0
// Gives a warp the column indices of one row of the graph, in increasing order. They come in portions through a queue
// in shared memory, so that a kernel is written once for all graph formats.
#pragma once

#include <bitgraph/core/kernel.cuh>
#include <bitgraph/formats/views.hpp>

#include "ops/spmm/tuning.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph::spmm_cuda {

constexpr unsigned queue_size = cuda_spmm_tuning().queue_columns;

/// Loads a column index around the first-level cache: it is read once, and would evict rows of X.
__device__ inline NodeId stream_in(const NodeId* place) {
  NodeId value;
  asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(value) : "l"(place));
  return value;
}

template <class Graph>
class RowColumns;

template <>
class RowColumns<CsrPatternView> {
 public:
  __device__ RowColumns(const CsrPatternView& a, NodeId row)
      : at_(a.col_ind + __ldg(a.row_ptr + row)), end_(a.col_ind + __ldg(a.row_ptr + row + 1)) {}

  /// Writes the next columns of the row to the queue, at most queue_size, and returns their number; 0 at the end.
  __device__ unsigned refill(NodeId* queue, unsigned lane) {
    const auto count = static_cast<unsigned>(min(end_ - at_, std::ptrdiff_t{queue_size}));
    __syncwarp();
    for (unsigned i = lane; i < count; i += 32) queue[i] = stream_in(at_ + i);
    __syncwarp();
    at_ += count;
    return count;
  }

 private:
  const NodeId* at_;
  const NodeId* end_;
};

/// Tiles whose side is known at run time. The kernels that use it are bound by the gather of X: one kernel for each
/// side would not be faster.
struct AnyTiles {
  NodeId nrows = 0;
  NodeId ncols = 0;
  NodeId side = 8;
  const EdgeOffset* tile_row_ptr = nullptr;
  const NodeId* tile_col_ind = nullptr;
  const void* bit_tiles = nullptr;

  template <int K>
  static AnyTiles of(const BitTileView<K>& a) {
    return {a.nrows, a.ncols, K, a.tile_row_ptr, a.tile_col_ind, a.bit_tiles};
  }

  /// The bits of row r of tile t.
  __device__ std::uint64_t tile_row(EdgeOffset t, int r) const {
    const EdgeOffset at = t * side + static_cast<EdgeOffset>(r);
    switch (side) {
      case 4: return (static_cast<unsigned>(__ldg(static_cast<const std::uint16_t*>(bit_tiles) + t)) >> (4 * r)) & 0xFU;
      case 8: return __ldg(static_cast<const std::uint8_t*>(bit_tiles) + at);
      case 16: return __ldg(static_cast<const std::uint16_t*>(bit_tiles) + at);
      case 32: return __ldg(static_cast<const std::uint32_t*>(bit_tiles) + at);
      default: return __ldg(static_cast<const std::uint64_t*>(bit_tiles) + at);
    }
  }
};

/// Unpacks 32 tiles of a tile row at a time, one tile a lane. A lane takes its tile's bits of the wanted row and writes
/// their columns to the queue, behind the columns of the lanes before it.
template <>
class RowColumns<AnyTiles> {
 public:
  __device__ RowColumns(const AnyTiles& a, NodeId row)
      : a_(a),
        row_(static_cast<int>(row % a.side)),
        at_(__ldg(a.tile_row_ptr + row / a.side)),
        end_(__ldg(a.tile_row_ptr + row / a.side + 1)) {}

  __device__ unsigned refill(NodeId* queue, unsigned lane) {
    __syncwarp();
    while (at_ < end_) {
      std::uint64_t bits = at_ + lane < end_ ? a_.tile_row(at_ + lane, row_) : 0;
      const auto mine = static_cast<unsigned>(__popcll(bits));
      unsigned before = mine;
      before = warp_inclusive_sum(before);
      // Take the first tiles whose columns fit into the queue together. One always fits: a row of a tile has at
      // most 64.
      const bool fits = before <= queue_size;
      const unsigned tiles = __popc(__ballot_sync(full_warp, fits));
      const unsigned count = __shfl_sync(full_warp, before, tiles - 1);
      if (fits && bits != 0) {
        const NodeId first = __ldg(a_.tile_col_ind + at_ + lane) * a_.side;
        for (unsigned place = before - mine; bits != 0; bits &= bits - 1) {
          queue[place++] = first + static_cast<NodeId>(__ffsll(static_cast<long long>(bits)) - 1);
        }
      }
      at_ += tiles;
      if (count != 0) {
        __syncwarp();
        return count;
      }
    }
    return 0;
  }

 private:
  AnyTiles a_;
  int row_;
  EdgeOffset at_;
  EdgeOffset end_;
};

}  // namespace bitgraph::spmm_cuda
