// SPDX-License-Identifier: Apache-2.0
// The columns of a row, in increasing order, for the threads of a warp: whatever the format, they come in portions
// through a queue in shared memory.
#pragma once

#include <bitgraph/core/kernel.cuh>
#include <bitgraph/formats/views.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph::spmm_cuda {

constexpr unsigned queue_size = 128;

/// A column index, which is read once: it does not push rows of x out of the first-level cache.
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

  /// The next columns, queue_size at most; 0 behind the last.
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

/// Tiles of any side: what is bound by the gather of X needs no kernel for each.
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

  /// Row r of tile t.
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

/// Tiles are unpacked a row at a time: each lane takes one tile's bits of the row, and writes its columns where those
/// of the tiles before it end.
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
      // The tiles whose columns all fit: at least one, for none has more than the queue.
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
