// SPDX-License-Identifier: Apache-2.0
// out = A x for tiles on a CUDA device: a warp a tile row, as many tiles side by side as a warp has room for, a lane a
// row of a tile (two where the side is 64). A block's warps have whole words of a binary output to themselves.
#pragma once

#include "ops/mxv/cuda/rules.cuh"
#include "ops/mxv/tuning.hpp"

namespace bitgraph::mxv_cuda {

constexpr unsigned tile_warps = cuda_mxv_tuning().tile_warps;  ///< of a block, a tile row each

template <int K>
struct TileShape {
  static constexpr unsigned rows_a_lane = K == 64 ? 2 : 1;
  static constexpr unsigned lanes_a_tile = K / rows_a_lane;
  static constexpr unsigned tiles_a_warp = 32 / lanes_a_tile;
};

/// The elements of a binary x below a tile: K bits.
template <int K>
__device__ std::uint64_t x_bits(const BitsIn& x, NodeId tile_col) {
  if constexpr (K == 64) {
    return __ldg(x.words + tile_col);
  } else {
    const std::size_t bit = std::size_t{tile_col} * K;
    return (bits_word(x.words, bit / 32) >> (bit % 32)) & ((std::uint64_t{1} << K) - 1);
  }
}

/// What the tile rows of one lane give.
template <class S, class T, int K>
struct TileSums {
  T sum[TileShape<K>::rows_a_lane];
};

template <class S, class T, int K>
__device__ T add_tile_row(T sum, std::uint64_t bits, NodeId tile_col, const ValuesView<const T>& x) {
  if constexpr (std::is_same_v<S, PlusPair>) {
    return sum + static_cast<T>(__popcll(bits));
  } else {
    for (; bits != 0; bits &= bits - 1) {
      sum = S::add(sum, S::multiply(__ldg(x.data + std::size_t{tile_col} * K + (__ffsll(bits) - 1))));
    }
    return sum;
  }
}

template <class S, class T, int K>
__device__ T add_tile_row(T sum, std::uint64_t bits, NodeId tile_col, const BitsIn& x) {
  const std::uint64_t met = bits & x_bits<K>(x, tile_col);
  if constexpr (std::is_same_v<S, OrAnd>) {
    return sum | static_cast<T>(met != 0 ? 1 : 0);
  } else {
    return sum + static_cast<T>(__popcll(met));
  }
}

/// The warp's tile row, reduced over the tiles side by side: lane r has row r (and r + 32).
template <class S, class T, int K, class In>
__device__ TileSums<S, T, K> sum_tile_row(const BitTileView<K>& a, const In& x, NodeId tile_row) {
  using Shape = TileShape<K>;
  const unsigned lane = threadIdx.x % 32;
  const unsigned row = lane % Shape::lanes_a_tile;
  const EdgeOffset end = __ldg(a.tile_row_ptr + tile_row + 1);
  TileSums<S, T, K> sums;
  for (unsigned n = 0; n < Shape::rows_a_lane; ++n) sums.sum[n] = S::template identity<T>();
  for (EdgeOffset t = __ldg(a.tile_row_ptr + tile_row) + lane / Shape::lanes_a_tile; t < end;
       t += Shape::tiles_a_warp) {
    const NodeId col = __ldg(a.tile_col_ind + t);
    for (unsigned n = 0; n < Shape::rows_a_lane; ++n) {
      const std::uint64_t bits = a.tile_row(t, static_cast<int>(row + n * 32));
      sums.sum[n] = add_tile_row<S, T, K>(sums.sum[n], bits, col, x);
    }
  }
  for (unsigned step = 16; step >= Shape::lanes_a_tile; step /= 2) {
    sums.sum[0] = S::add(sums.sum[0], __shfl_xor_sync(full_warp, sums.sum[0], step));
  }
  return sums;
}

/// A tile row with no selected row is left alone.
template <int K>
__device__ bool any_selected(const OutputRule& rule, NodeId tile_row) {
  if (rule.mask == nullptr) return true;
  const std::size_t row = std::size_t{tile_row} * K;
  if constexpr (K == 64) {
    return (selected_word(rule, row / 32) | selected_word(rule, row / 32 + 1)) != 0;
  } else {
    return ((selected_word(rule, row / 32) >> (row % 32)) & ((std::uint64_t{1} << K) - 1)) != 0;
  }
}

template <class S, int K, class In, class T>
__global__ void __launch_bounds__(32 * tile_warps) mxv_tiles(MxvArgs<S, BitTileView<K>, In, ValuesView<T>> args) {
  const NodeId tile_row = blockIdx.x * tile_warps + threadIdx.x / 32;
  if (tile_row >= args.a.num_tile_rows) return;
  TileSums<S, T, K> sums{};
  if (any_selected<K>(args.rule, tile_row)) sums = sum_tile_row<S, T, K>(args.a, args.x, tile_row);
  const unsigned lane = threadIdx.x % 32;
  if (lane >= TileShape<K>::lanes_a_tile) return;
  for (unsigned n = 0; n < TileShape<K>::rows_a_lane; ++n) {
    const std::size_t i = std::size_t{tile_row} * K + lane + n * 32;
    if (i < args.a.nrows) store_value<S>(args.out, args.rule, i, sums.sum[n]);
  }
}

template <class S, int K>
__global__ void __launch_bounds__(32 * tile_warps) mxv_tiles(MxvArgs<S, BitTileView<K>, BitsIn, BitsOut> args) {
  constexpr unsigned block_rows = tile_warps * K;
  __shared__ std::uint32_t words[block_rows / 32];
  for (unsigned w = threadIdx.x; w < block_rows / 32; w += 32 * tile_warps) words[w] = 0;
  __syncthreads();
  const NodeId tile_row = blockIdx.x * tile_warps + threadIdx.x / 32;
  if (tile_row < args.a.num_tile_rows && any_selected<K>(args.rule, tile_row)) {
    const auto sums = sum_tile_row<S, std::uint32_t, K>(args.a, args.x, tile_row);
    for (unsigned n = 0; n < TileShape<K>::rows_a_lane; ++n) {
      const unsigned rows = __ballot_sync(full_warp, sums.sum[n] != 0);
      const unsigned bit = threadIdx.x / 32 * K + n * 32;
      if (threadIdx.x % 32 == 0) {
        const unsigned own = K >= 32 ? rows : rows & ((1U << (K % 32)) - 1);
        if (own != 0) atomicOr(&words[bit / 32], own << (bit % 32));
      }
    }
  }
  __syncthreads();
  for (unsigned w = threadIdx.x; w < block_rows / 32; w += 32 * tile_warps) {
    const std::size_t first = std::size_t{blockIdx.x} * block_rows + w * 32;
    if (first >= args.a.nrows) return;
    const std::size_t left = args.a.nrows - first;
    store_bits(args.out, args.rule, first / 32, left >= 32 ? ~0U : (1U << left) - 1, words[w], false);
  }
}

template <class S, int K, class In, class Out>
void launch_rows(const Device& device, const MxvArgs<S, BitTileView<K>, In, Out>& args) {
  if (args.a.nrows == 0) return;
  const unsigned blocks = blocks_for(args.a.num_tile_rows, tile_warps);
  if constexpr (is_bits<Out>) {
    mxv_tiles<S, K><<<blocks, 32 * tile_warps, 0, stream_of(device)>>>(args);
  } else {
    mxv_tiles<S, K><<<blocks, 32 * tile_warps, 0, stream_of(device)>>>(args);
  }
  cuda_check_launch("mxv_tiles");
}

}  // namespace bitgraph::mxv_cuda
