// SPDX-License-Identifier: Apache-2.0
// 32 columns of the graph in the registers of a warp: the bits of some tiles, and the rows of X that they meet.
#pragma once

#include <bitgraph/core/kernel.cuh>

#include "ops/spmm/cuda/block.hpp"
#include "ops/spmm/tile_words.hpp"

namespace bitgraph::spmm_cuda {

/// A tile is a piece, or where it is wider than a word, two: its left and its right half.
template <int K>
inline constexpr unsigned pieces_a_tile = K == 64 ? 2 : 1;

/// Rows of a tile row that a warp counts at a time: the others of large tiles are other warps'.
template <int K>
inline constexpr int rows_at_once = K < 16 ? K : 16;

/// Which words of features and which rows of its tile rows a warp counts.
struct TilePlace {
  unsigned first_word;
  unsigned first_row;
};

/// Exchanges rows and columns of 32 x 32 bits, of which lane r has row r.
__device__ inline std::uint32_t transpose_in_warp(std::uint32_t row) {
  std::uint32_t lower = 0x0000FFFFU;
#pragma unroll
  for (unsigned half = 16; half != 0; half /= 2) {
    const std::uint32_t other = __shfl_xor_sync(full_warp, row, half);
    const bool is_lower = (threadIdx.x & half) == 0;
    row = is_lower ? (row & lower) | ((other & lower) << half) : (row & ~lower) | ((other & ~lower) >> half);
    lower ^= lower << (half / 2);
  }
  return row;
}

template <int K, int W>
struct TileSet {
  static constexpr unsigned pieces = K < 32 ? 32 / K : 1;
  static constexpr int rows = rows_at_once<K>;

  /// K 4 and 8: all bits of the lane's tile; 16: row lane % 16 of the lane's tile; 32 and 64: of the rows that the warp
  /// counts, row lane % 16.
  std::uint64_t bits = 0;
  std::uint32_t x[W] = {};  ///< the lane's row of X

  /// The columns of the pieces begin .. end.
  __device__ static std::uint32_t columns(EdgeOffset begin, EdgeOffset end) {
    constexpr unsigned width = 32 / pieces;
    const std::uint32_t before_end = ~0U >> (32 - static_cast<unsigned>(end) * width);
    return before_end & (~0U << (static_cast<unsigned>(begin) * width));
  }

  /// Row n of the graph's bits, the same in every lane. False where all are zero.
  __device__ bool graph_words(std::uint32_t (&word)[rows]) const {
#pragma unroll
    for (int n = 0; n < rows; ++n) {
      if constexpr (K <= 8) {
        word[n] = __ballot_sync(full_warp, ((bits >> (K * n + threadIdx.x % K)) & 1U) != 0);
      } else {
        word[n] = __shfl_sync(full_warp, static_cast<std::uint32_t>(bits), n);
        if constexpr (K == 16) word[n] |= __shfl_sync(full_warp, static_cast<std::uint32_t>(bits), n + 16) << 16;
      }
    }
    return K <= 16 || __any_sync(full_warp, bits != 0);  // of a larger tile other rows may have the bits
  }

  /// A lane had a row of X, and has a feature of all of them.
  __device__ void transpose() {
#pragma unroll
    for (int w = 0; w < W; ++w) x[w] = transpose_in_warp(x[w]);
  }
};

/// The sets of a warp's pieces begin .. end, one after the other: the next rows of X are on their way, and the columns
/// and bits of the set behind it.
template <int K, int W>
class SetReader {
 public:
  template <class Args>
  __device__ SetReader(const Args& args, const TilePlace& place, EdgeOffset begin, EdgeOffset end)
      : a_(args.a), x_(args.x), place_(place), at_(begin), end_(end) {
    load_tiles();
    load_rows();
    load_tiles();
  }

  __device__ TileSet<K, W> next() {
    const TileSet<K, W> set = ready_;
    load_rows();
    load_tiles();
    return set;
  }

 private:
  /// The bits and the row of X of the lane's piece.
  __device__ void load_tiles() {
    const unsigned lane = threadIdx.x % 32;
    const EdgeOffset piece = at_ + (K < 32 ? lane / K : 0);
    at_ += TileSet<K, W>::pieces;
    bits_ = 0;
    row_ = no_row;
    std::uint64_t row = 0;
    bool needed = false;
    if (piece < end_) {
      const EdgeOffset tile = piece / pieces_a_tile<K>;
      const NodeId column = lane % (K < 32 ? K : 32) + (K == 64 && piece % 2 != 0 ? 32 : 0);
      row = std::uint64_t{__ldg(a_.tile_col_ind + tile)} * K + column;
      if constexpr (K == 4) {
        bits_ = __ldg(a_.bit_tiles + tile);
        needed = ((bits_ >> column) & 0x1111U) != 0;
      } else if constexpr (K == 8) {
        bits_ = __ldg(reinterpret_cast<const unsigned long long*>(a_.bit_tiles) + tile);
        needed = ((bits_ >> column) & 0x0101010101010101U) != 0;
      } else {
        bits_ = __ldg(a_.bit_tiles + tile * K + place_.first_row + lane % 16);
        if constexpr (K == 64) bits_ = piece % 2 == 0 ? bits_ & 0xFFFFFFFFU : bits_ >> 32;
      }
    }
    if constexpr (K >= 16) {  // of the rows that the lanes have, the columns that have a bit
      const auto own = static_cast<std::uint32_t>(bits_);
      const unsigned together = K > 16 ? full_warp : lane < 16 ? 0x0000FFFFU : 0xFFFF0000U;
      needed = ((__reduce_or_sync(together, own) >> (lane % K)) & 1U) != 0;
    }
    if (needed) row_ = static_cast<NodeId>(row);
  }

  __device__ void load_rows() {
    ready_.bits = bits_;
    const std::uint32_t* const words =
        reinterpret_cast<const std::uint32_t*>(x_.words + std::size_t{row_} * x_.words_per_row) + place_.first_word;
    const bool exists = row_ != no_row;
    if constexpr (W == 2) {
      const uint2 v = exists ? __ldg(reinterpret_cast<const uint2*>(words)) : uint2{0, 0};
      ready_.x[0] = v.x;
      ready_.x[1] = v.y;
    } else {
#pragma unroll
      for (int w = 0; w < W; w += 4) {
        const uint4 v = exists ? __ldg(reinterpret_cast<const uint4*>(words + w)) : uint4{0, 0, 0, 0};
        ready_.x[w] = v.x;
        ready_.x[w + 1] = v.y;
        ready_.x[w + 2] = v.z;
        ready_.x[w + 3] = v.w;
      }
    }
  }

  const BitTileView<K>& a_;
  const BitsIn& x_;
  TilePlace place_;
  EdgeOffset at_;
  EdgeOffset end_;
  std::uint64_t bits_ = 0;  ///< of the set behind the next one
  NodeId row_ = no_row;
  TileSet<K, W> ready_;
};

}  // namespace bitgraph::spmm_cuda
