// SPDX-License-Identifier: Apache-2.0
// Tiles that meet on a CUDA device.
#pragma once

#include "formats/cuda/formats.hpp"
#include "ops/mxm/cuda/meet.cuh"

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>

namespace bitgraph::mxm_cuda {

/// The non-empty tiles of a matrix as a pattern: an entry a tile.
class TilePattern {
 public:
  template <int K>
  TilePattern(const Device& device, const BitTileView<K>& a, EdgeOffset num_tiles)
      : chunk_row_(cuda_formats::csr_chunk_rows(Cuda{device}, a.num_tile_rows, num_tiles, a.tile_row_ptr)) {
    view_.nrows = a.num_tile_rows;
    view_.ncols = static_cast<NodeId>((std::size_t{a.ncols} + K - 1) / K);
    view_.row_ptr = a.tile_row_ptr;
    view_.col_ind = a.tile_col_ind;
    view_.chunk_row = chunk_row_.data();
    view_.num_chunks = static_cast<NodeId>(chunk_row_.size() - 1);
    view_.num_entries = num_tiles;
  }
  [[nodiscard]] const CsrPatternView& view() const { return view_; }

 private:
  Buffer<NodeId> chunk_row_;
  CsrPatternView view_;
};

template <int K>
[[nodiscard]] MeetRows rows_of(const BitTileView<K>& a) {
  return {a.tile_row_ptr, a.tile_col_ind, {}};
}

constexpr unsigned lengths_threads = cuda_mxm_tuning().block_threads;

/// The entries of every row of a matrix of tiles; a warp a tile row, a lane a row of a tile or two.
template <int K, class T>
__global__ void __launch_bounds__(lengths_threads) find_lengths(BitTileView<K> b, T* lengths) {
  constexpr unsigned lanes = K < 32 ? K : 32;  // of a tile
  const auto tile_row = static_cast<NodeId>((std::size_t{blockIdx.x} * lengths_threads + threadIdx.x) / 32);
  const unsigned lane = threadIdx.x % 32;
  if (tile_row >= b.num_tile_rows) return;
  const EdgeOffset end = __ldg(b.tile_row_ptr + tile_row + 1);
  unsigned sums[K / lanes] = {};
  for (EdgeOffset t = __ldg(b.tile_row_ptr + tile_row) + lane / lanes; t < end; t += 32 / lanes) {
    for (unsigned n = 0; n < K / lanes; ++n)
      sums[n] += __popcll(b.tile_row(t, static_cast<int>(lane % lanes + n * 32)));
  }
  for (unsigned step = 16; step >= lanes; step /= 2) sums[0] += __shfl_xor_sync(full_warp, sums[0], step);
  for (unsigned n = 0; n < K / lanes; ++n) {
    const std::size_t i = std::size_t{tile_row} * K + lane + n * 32;
    if (lane < lanes && i < b.nrows) lengths[i] = sums[n];
  }
}

template <int K, class T>
void launch_lengths(const Device& device, const BitTileView<K>& b, T* lengths) {
  find_lengths<<<blocks_for(std::size_t{b.num_tile_rows} * 32, lengths_threads), lengths_threads, 0,
                 stream_of(device)>>>(b, lengths);
  cuda_check_launch("find_lengths");
}

/// Large tiles are shared out: a block has as many of their rows.
constexpr unsigned slice_rows = 8;
template <int K>
constexpr unsigned tile_slices = K <= 8 ? 1 : K / slice_rows;

/// The sum over the bits (r, c) of a tile of m of what row r of x and row c of b share; of large tiles for the
/// rows r of the block's slice.
template <int K>
__device__ unsigned common_bits(const TileWord<K>* m, const TileWord<K>* x, const TileWord<K>* b) {
  unsigned sum = 0;
  if constexpr (K <= 8) {
    // Column n of x, a bit a row, times column n of b, laid side by side: the pairs of rows that both have n.
    using Tile = std::conditional_t<K == 4, std::uint32_t, std::uint64_t>;
    constexpr Tile column = static_cast<Tile>(K == 4 ? 0x1111U : 0x0101010101010101U);
    const Tile within = K == 4 ? *m : *reinterpret_cast<const Tile*>(m);
    const Tile left = K == 4 ? *x : *reinterpret_cast<const Tile*>(x);
    const Tile right = K == 4 ? *b : *reinterpret_cast<const Tile*>(b);
    for (unsigned n = 0; n < K; ++n) {
      const Tile gathered = (right >> n) & column;
      const Tile row = K == 4 ? (gathered * 0x1248U >> 12) & 0xFU : (gathered * 0x0102040810204080U >> 56);
      sum += __popcll(((left >> n) & column) * row & within);
    }
  } else {
    TileWord<K> within[slice_rows], own_rows[slice_rows];
    for (unsigned n = 0; n < slice_rows; ++n) {
      within[n] = m[blockIdx.y * slice_rows + n];
      own_rows[n] = x[blockIdx.y * slice_rows + n];
    }
    for (unsigned n = 0; n < slice_rows; ++n) {
      std::uint64_t rows = within[n];
      const std::uint64_t own = own_rows[n];
      if (own == 0) continue;
      for (; rows != 0; rows &= rows - 1) sum += __popcll(own & b[__ffsll(rows) - 1]);
    }
  }
  return sum;
}

/// Adds up what tiles of x and b share within tiles of the mask.
template <int K>
struct CountInTiles {
  static constexpr bool only_counts = false;
  static constexpr unsigned slices = tile_slices<K>;
  const TileWord<K>* mask;
  const TileWord<K>* x;
  const TileWord<K>* b;
  unsigned long long* total;
  unsigned long long found = 0;

  __device__ void operator()(EdgeOffset e, EdgeOffset p_at, EdgeOffset q_at) {
    found += common_bits<K>(mask + e * tile_words<K>, x + p_at * tile_words<K>, b + q_at * tile_words<K>);
  }
  __device__ void finish() { add_of_block(found, total); }
};

}  // namespace bitgraph::mxm_cuda
