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

#include "ops/spmm/cuda_emit.cuh"
#include "ops/spmm/cuda_tile_set.cuh"

namespace bitgraph::spmm_cuda {

/// How the stream of tile rows and pieces is cut: a tile row counts as one item, and so does each of its pieces.
struct TileShares {
  EdgeOffset share = 0;  ///< items of a warp
  EdgeOffset num_shares = 0;
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
    const bool before = probe < high && __ldg(a.tile_row_ptr + probe) * pieces_a_tile<K> + probe < target;
    const unsigned count = __popc((__ballot_sync(full_warp, before) >> (16 * half)) & 0xFFFFU);
    high = min(high, low + (count + 1) * step - 1);
    low += count * step;
  }
  first = __shfl_sync(full_warp, low, 0);
  second = __shfl_sync(full_warp, low, 16);
}

/// A warp's share, for W words of 32 features.
template <int K, int W, SpmmStrategy kStrategy, class Out>
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
    if (row != 0 && begin - start_of(row - 1) > shares_.long_row && begin > first_item - row) {
      begin = first_item - row;  // of the long row that began in a share before
      --row;
    }
    if (row == end_row) return;
    EdgeOffset end = start_of(end_row);
    if (end - start_of(end_row - 1) > shares_.long_row) end = min(end, end_item - end_row);
    walk(row, end_row, begin, end);
  }

 private:
  static constexpr int rows = rows_at_once<K>;
  using Set = TileSet<K, W>;

  __device__ EdgeOffset start_of(NodeId row) const { return __ldg(args_.a.tile_row_ptr + row) * pieces_a_tile<K>; }

  /// Pieces begin .. end, of the tile rows row .. end_row.
  __device__ void walk(NodeId row, NodeId end_row, EdgeOffset begin, EdgeOffset end) {
    RowStarts<K> starts(args_.a, row);
    EdgeOffset row_begin = starts(row);
    EdgeOffset row_end = starts(row + 1);
    const auto finish = [&] {
      if (row_begin >= begin && row_end <= end) {
        write(row);
      } else {
        add_to_slot(row, row_begin, row_end);
      }
#pragma unroll
      for (int n = 0; n < rows; ++n) {
#pragma unroll
        for (int w = 0; w < W; ++w) sum_[n][w] = 0;
      }
      row_begin = row_end;
      if (++row < end_row) row_end = starts(row + 1);
    };
    SetReader<K, W> reader(args_, place_, begin, end);
    for (EdgeOffset at = begin; at < end; at += Set::pieces) {
      Set set = reader.next();
      const EdgeOffset set_end = min(end, at + Set::pieces);
      std::uint32_t graph[rows];
      set.graph_words(graph);
      if constexpr (kStrategy != SpmmStrategy::each_bit) set.transpose();
      EdgeOffset done = at;
      while (row < end_row) {
        const EdgeOffset own_end = min(row_end, set_end);
        if (done < own_end) add(graph, set, Set::columns(done - at, own_end - at));
        if (row_end > set_end) break;
        done = row_end;
        finish();
      }
    }
    while (row < end_row) finish();
  }

  /// The products of the columns in the mask.
  __device__ void add(const std::uint32_t (&graph)[rows], const Set& set, std::uint32_t mask) {
#pragma unroll
    for (int n = 0; n < rows; ++n) {
      const std::uint32_t a = graph[n] & mask;
      if constexpr (kStrategy == SpmmStrategy::each_bit) {
        for (std::uint32_t left = a; left != 0; left &= left - 1) {
          const int source = __ffs(static_cast<int>(left)) - 1;
#pragma unroll
          for (int w = 0; w < W; ++w) {
            const std::uint32_t bits = __shfl_sync(full_warp, set.x[w], source) >> (threadIdx.x % 32);
            sum_[n][w] += 2 * static_cast<int>(bits & 1U) - 1;
          }
        }
      } else {
#pragma unroll
        for (int w = 0; w < W; ++w) {
          if constexpr (kStrategy == SpmmStrategy::difference) {
            sum_[n][w] += __popc(a & set.x[w]) - __popc(a & ~set.x[w]);
          } else {
            sum_[n][w] += 2 * __popc(a & set.x[w]) - __popc(a);
          }
        }
      }
    }
  }

  /// The sums through the epilogue to rows of the output.
  __device__ void write(NodeId tile_row) const {
    const unsigned lane = threadIdx.x % 32;
    const bool plain = is_identity(args_.epilogue);
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
        float y = static_cast<float>(sum_[n][w]);
        if (!plain && exists) y = through(args_.epilogue, row, f, y);
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

  /// Adds the sums of a part of a long row; the last warp to do so has those of the whole row, and writes it.
  __device__ void add_to_slot(NodeId tile_row, EdgeOffset row_begin, EdgeOffset row_end) {
    const EdgeOffset slot = row_begin / shares_.long_row;
    const EdgeOffset first_share = (row_begin + tile_row) / shares_.share;
    const EdgeOffset last_share = (row_end + tile_row) / shares_.share;
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
    if (before != last_share - first_share) return;
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
    write(tile_row);
  }

  const SpmmArgs<BitTileView<K>, BitsIn, Out>& args_;
  const TileShares& shares_;
  TilePlace place_;
  std::int32_t sum_[rows][W] = {};
};

template <int K, int W, SpmmStrategy kStrategy, class Out>
__global__ void __launch_bounds__(block_threads)
    spmm_tile_words(const __grid_constant__ SpmmArgs<BitTileView<K>, BitsIn, Out> args,
                    const __grid_constant__ TileShares shares) {
  const EdgeOffset number = EdgeOffset{blockIdx.x} * block_warps + threadIdx.x / 32;
  if (number < shares.num_shares) TileWalk<K, W, kStrategy, Out>(args, shares).run(number);
}

}  // namespace bitgraph::spmm_cuda
