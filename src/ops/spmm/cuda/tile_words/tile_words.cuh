// SPDX-License-Identifier: Apache-2.0
// Votes over tiles by machine words on a CUDA device (FRDC: BitGNN, sections 3.2.1 and 3.3.2, Algorithm 1): tiles are
// put together to words of 32 columns in registers, the 32 rows of X that these meet are transposed across the warp,
// and a lane counts one feature of each row by popcounts.
//
// Unlike in the paper a warp takes no tile row but an even share of the stream of tiles, as many at a time as fill a
// word, whichever tile rows they are of: short tile rows share a word and its transpose. A tile row that begins in a
// warp's share is the warp's; only a long one is cut where shares end. Its sums are added up in memory, and the last
// warp to add writes the row.
#pragma once

#include "ops/spmm/cuda/epilogue/emit.cuh"
#include "ops/spmm/cuda/tile_words/tile_set.cuh"

namespace bitgraph::spmm_cuda {

/// How the stream of tile rows and pieces is cut. A piece counts as one item, a tile row as some: what it takes to
/// write its rows.
struct TileShares {
  static constexpr EdgeOffset items_a_row = cuda_spmm_tuning().tiles.items_a_row;

  EdgeOffset share = 0;  ///< items of a warp
  EdgeOffset num_shares = 0;
  bool twice_ones = false;  ///< which of the two sums of popcounts
  EdgeOffset long_row = 0;  ///< tile rows of more pieces are cut where a share ends
  /// A long row that begins at piece p has slot p / long_row: sums of its rows, 32 features a word.
  std::int32_t* sums = nullptr;      ///< slots x K x words x 32, zero before and after
  std::uint32_t* arrived = nullptr;  ///< slots x gridDim.y x gridDim.z, zero before and after
};

/// Where the pieces of tile rows begin, 32 of them at a time in the lanes of a warp.
template <int K>
class RowStarts {
 public:
  __device__ RowStarts(const BitTileView<K>& a, NodeId row) : a_(a) { load(row); }

  /// Asked for in increasing order.
  __device__ EdgeOffset operator()(NodeId row) {
    if (row - first_ >= 32) load(row);
    return __shfl_sync(full_warp, start_, static_cast<int>(row - first_));
  }

 private:
  __device__ void load(NodeId row) {
    first_ = row;
    start_ = __ldg(a_.tile_row_ptr + min(std::size_t{row} + threadIdx.x % 32, std::size_t{a_.num_tile_rows})) *
             pieces_a_tile<K>;
  }

  const BitTileView<K>& a_;
  NodeId first_ = 0;
  EdgeOffset start_ = 0;
};

/// The tile rows that begin in a warp's share, first .. second: the first whose item is not before the share's begin,
/// or its end. Each half of the warp looks for one of them.
template <int K>
__device__ void find_share(const BitTileView<K>& a, EdgeOffset begin, EdgeOffset end, NodeId& first, NodeId& second) {
  const unsigned half = threadIdx.x % 32 / 16;
  const EdgeOffset target = half == 0 ? begin : end;
  std::uint32_t low = 0;
  std::uint32_t high = a.num_tile_rows;
  while (__any_sync(full_warp, low != high)) {
    const std::uint32_t step = (high - low) / 16 + 1;
    const std::uint32_t probe = low + (threadIdx.x % 16 + 1) * step - 1;
    const bool before =
        probe < high && __ldg(a.tile_row_ptr + probe) * pieces_a_tile<K> + probe * TileShares::items_a_row < target;
    const unsigned count = __popc((__ballot_sync(full_warp, before) >> (16 * half)) & 0xFFFFU);
    high = min(high, low + (count + 1) * step - 1);
    low += count * step;
  }
  first = __shfl_sync(full_warp, low, 0);
  second = __shfl_sync(full_warp, low, 16);
}

/// A warp's share, for W words of 32 features.
template <int K, int W, bool kEachBit, class Out>
class TileWalk {
 public:
  __device__ TileWalk(const SpmmArgs<BitTileView<K>, BitsIn, Out>& args, const TileShares& shares)
      : args_(args), shares_(shares), place_{blockIdx.y * W, blockIdx.z * rows} {}

  __device__ void run(EdgeOffset number) {
    const EdgeOffset first_item = number * shares_.share;
    const EdgeOffset end_item = first_item + shares_.share;
    NodeId row = 0;
    NodeId end_row = 0;
    find_share(args_.a, first_item, end_item, row, end_row);
    EdgeOffset begin = start_of(row);
    if (row != 0 && is_cut(row - 1, start_of(row - 1), begin) && begin > piece_at(first_item, row - 1)) {
      --row;  // the long row that began in a share before
      begin = piece_at(first_item, row);
    }
    if (row == end_row) return;
    EdgeOffset end = start_of(end_row);
    if (is_cut(end_row - 1, start_of(end_row - 1), end)) end = min(end, piece_at(end_item, end_row - 1));
    walk(row, end_row, begin, end);
  }

 private:
  static constexpr int rows = rows_at_once<K>;
  using Set = TileSet<K, W>;

  __device__ EdgeOffset start_of(NodeId row) const { return __ldg(args_.a.tile_row_ptr + row) * pieces_a_tile<K>; }

  /// The first of a row's pieces that is not before an item; the row begins before the item.
  __device__ EdgeOffset piece_at(EdgeOffset item, NodeId row) const {
    const EdgeOffset before = (EdgeOffset{row} + 1) * TileShares::items_a_row;
    return max(start_of(row), item < before ? 0 : item - before);
  }

  /// The share of the tile row itself, and that of its last piece.
  __device__ EdgeOffset first_share(NodeId row, EdgeOffset begin) const {
    return (begin + EdgeOffset{row} * TileShares::items_a_row) / shares_.share;
  }
  __device__ EdgeOffset last_share(NodeId row, EdgeOffset end) const {
    return (end - 1 + (EdgeOffset{row} + 1) * TileShares::items_a_row) / shares_.share;
  }
  __device__ bool is_cut(NodeId row, EdgeOffset begin, EdgeOffset end) const {
    return end - begin > shares_.long_row && first_share(row, begin) != last_share(row, end);
  }

  /// Pieces begin .. end, of the tile rows row .. end_row.
  __device__ void walk(NodeId row, NodeId end_row, EdgeOffset begin, EdgeOffset end) {
    RowStarts<K> starts(args_.a, row);
    EdgeOffset row_begin = starts(row);
    EdgeOffset row_end = starts(row + 1);
    SetReader<K, W> reader(args_, place_, begin, end);
    for (EdgeOffset at = begin;; at += Set::pieces) {
      Set set = reader.next();
      const EdgeOffset set_end = min(end, at + Set::pieces);
      std::uint32_t graph[rows];
      const bool any = set.graph_words(graph);
      if (!kEachBit && any) set.transpose();
      EdgeOffset done = at;
      while (row < end_row) {
        const EdgeOffset own_end = min(row_end, set_end);
        if (done < own_end) add(graph, set, Set::columns(done - at, own_end - at));
        if (row_end > set_end && set_end < end) break;  // it goes on
        done = own_end;
        finish(row, row_begin, row_end);
        row_begin = row_end;
        if (++row < end_row) row_end = starts(row + 1);
      }
      if (set_end == end) break;
    }
  }

  __device__ void finish(NodeId row, EdgeOffset begin, EdgeOffset end) {
    if (!is_cut(row, begin, end) || add_to_slot(row, begin, end)) write(row);
#pragma unroll
    for (int n = 0; n < rows; ++n) {
#pragma unroll
      for (int w = 0; w < W; ++w) sum_[n][w] = 0;
    }
  }

  /// The products of the columns in the mask.
  __device__ void add(const std::uint32_t (&graph)[rows], const Set& set, std::uint32_t mask) {
    if constexpr (kEachBit) {
      add_each_bit(graph, set, mask);
    } else if (shares_.twice_ones) {
      add_products(graph, mask, [&](std::uint32_t a, int w) { return 2 * __popc(a & set.x[w]) - __popc(a); });
    } else {
      add_products(graph, mask, [&](std::uint32_t a, int w) { return __popc(a & set.x[w]) - __popc(a & ~set.x[w]); });
    }
  }

  template <class Product>
  __device__ void add_products(const std::uint32_t (&graph)[rows], std::uint32_t mask, const Product& product) {
#pragma unroll
    for (int n = 0; n < rows; ++n) {
      const std::uint32_t a = graph[n] & mask;
      if (K > 8 && a == 0) continue;  // most rows of large tiles have nothing
#pragma unroll
      for (int w = 0; w < W; ++w) sum_[n][w] += product(a, w);
    }
  }

  /// No lane has a column: a row of X is asked for from the lane that has it, bit by bit of the graph.
  __device__ void add_each_bit(const std::uint32_t (&graph)[rows], const Set& set, std::uint32_t mask) {
#pragma unroll
    for (int n = 0; n < rows; ++n) {
      for (std::uint32_t left = graph[n] & mask; left != 0; left &= left - 1) {
        const int source = __ffs(static_cast<int>(left)) - 1;
#pragma unroll
        for (int w = 0; w < W; ++w) {
          const std::uint32_t bits = __shfl_sync(full_warp, set.x[w], source) >> (threadIdx.x % 32);
          sum_[n][w] += 2 * static_cast<int>(bits & 1U) - 1;
        }
      }
    }
  }

  /// The sums through the epilogue to rows of the output.
  __device__ void write(NodeId tile_row) const {
    const unsigned lane = threadIdx.x % 32;
    const bool plain = args_.epilogue.is_identity();
    const std::size_t first_row = std::size_t{tile_row} * K + place_.first_row;
    std::uint32_t kept[(rows * W + 31) / 32] = {};
#pragma unroll
    for (int n = 0; n < rows; ++n) {
      const std::size_t row = first_row + n;
      if (row >= args_.a.nrows) break;
#pragma unroll
      for (int w = 0; w < W; ++w) {
        const std::size_t f = std::size_t{place_.first_word + w} * 32 + lane;
        const bool exists = f < args_.x.ncols;
        const auto sum = static_cast<float>(sum_[n][w]);
        const float y = plain || !exists ? sum : through(args_.epilogue, row, f, sum);
        if constexpr (is_bits<Out>) {
          const std::uint32_t signs = __ballot_sync(full_warp, exists && y >= 0);
          if ((n * W + w) % 32 == lane) kept[(n * W + w) / 32] = signs;
        } else if (exists) {
          args_.out.data[row * args_.out.stride + f] = y;
        }
      }
    }
    if constexpr (is_bits<Out>) {
#pragma unroll
      for (int m = 0; m < (rows * W + 31) / 32; ++m) {
        const unsigned place = m * 32 + lane;
        const std::size_t row = first_row + place / W;
        if (place < rows * W && row < args_.a.nrows) {
          *half_word(args_.out, static_cast<NodeId>(row), place_.first_word + place % W) = kept[m];
        }
      }
    }
  }

  /// Adds the sums of a part of a long row. True for the last warp to do so: it has those of the whole row then.
  __device__ bool add_to_slot(NodeId tile_row, EdgeOffset row_begin, EdgeOffset row_end) {
    const EdgeOffset slot = row_begin / shares_.long_row;
    const auto place_of = [&](int n, int w) {
      const std::size_t row = slot * K + place_.first_row + n;
      return shares_.sums + (row * half_words(args_.x) + place_.first_word + w) * 32 + threadIdx.x % 32;
    };
#pragma unroll
    for (int n = 0; n < rows; ++n) {
#pragma unroll
      for (int w = 0; w < W; ++w) {
        if (sum_[n][w] != 0) atomicAdd(place_of(n, w), sum_[n][w]);
      }
    }
    __threadfence();
    __syncwarp();
    std::uint32_t* const arrived = shares_.arrived + (slot * gridDim.y + blockIdx.y) * gridDim.z + blockIdx.z;
    std::uint32_t before = 0;
    if (threadIdx.x % 32 == 0) before = atomicAdd(arrived, 1U);
    before = __shfl_sync(full_warp, before, 0);
    if (before != last_share(tile_row, row_end) - first_share(tile_row, row_begin)) return false;
    __threadfence();
#pragma unroll
    for (int n = 0; n < rows; ++n) {
#pragma unroll
      for (int w = 0; w < W; ++w) {
        sum_[n][w] = __ldcg(place_of(n, w));
        *place_of(n, w) = 0;
      }
    }
    if (threadIdx.x % 32 == 0) *arrived = 0;
    return true;
  }

  const SpmmArgs<BitTileView<K>, BitsIn, Out>& args_;
  const TileShares& shares_;
  TilePlace place_;
  std::int32_t sum_[rows][W] = {};
};

template <int K, int W, bool kEachBit, class Out>
__global__ void __launch_bounds__(block_threads)
    spmm_tile_words(const __grid_constant__ SpmmArgs<BitTileView<K>, BitsIn, Out> args,
                    const __grid_constant__ TileShares shares) {
  const EdgeOffset number = EdgeOffset{blockIdx.x} * block_warps + threadIdx.x / 32;
  if (number < shares.num_shares) TileWalk<K, W, kEachBit, Out>(args, shares).run(number);
}

}  // namespace bitgraph::spmm_cuda
