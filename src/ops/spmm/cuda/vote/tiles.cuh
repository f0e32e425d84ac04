// SPDX-License-Identifier: Apache-2.0
// The vote over tiles on a CUDA device. A set of lanes counts the neighbors of one row: each lane holds the row's bits
// of one tile, and the lanes take turns to tell the set the columns of their bits. For a row of more than `many_tiles`
// tiles the whole warp works, and its columns come through a queue in shared memory.
#pragma once

#include "ops/spmm/cuda/block.hpp"
#include "ops/spmm/cuda/plan.hpp"
#include "ops/spmm/cuda/schedule/columns.cuh"
#include "ops/spmm/cuda/vote/hub.cuh"
#include "ops/spmm/spmm.hpp"

#include <algorithm>
#include <bit>

namespace bitgraph::spmm_cuda {

constexpr EdgeOffset many_tiles = cuda_spmm_tuning().tiles.many_tiles;
constexpr int tile_planes = std::bit_width(many_tiles * 64);  ///< bits of a counter: a row has no more neighbors then

/// Counts the neighbors of one row with the whole warp.
template <int Lanes, class Args>
__device__ void vote_tile_row(const Args& args, NodeId row, unsigned word, NodeId* queue, std::uint32_t* scratch) {
  constexpr unsigned sets = 32 / Lanes;
  const unsigned lane = threadIdx.x % 32;
  const std::size_t stride = half_words(args.x);
  const std::uint32_t* const words = reinterpret_cast<const std::uint32_t*>(args.x.words) + word;
  RowColumns<AnyTiles> columns(args.a, row);
  BitCounter<any_planes> counter;
  std::uint32_t n = 0;
  for (unsigned count = columns.refill(queue, lane); count != 0; count = columns.refill(queue, lane)) {
    n += count;
    for (unsigned at = lane / Lanes; at < count; at += batch * sets) {
      std::uint32_t value[batch] = {};
#pragma unroll
      for (unsigned k = 0; k < batch; ++k) {
        if (at + k * sets < count && word < stride) value[k] = __ldg(words + queue[at + k * sets] * stride);
      }
      counter.add(value);
    }
  }
  const int planes = static_cast<int>(bits_of(n));
  __syncwarp();
  add_sets<Lanes>(counter, planes);
  emit(args, counter, Counted{word < stride ? row : no_row, word, n}, Lanes, planes, scratch);
}

/// The columns of up to Lanes tiles of a row, one after the other. All lanes of a set get the same column.
template <int Lanes>
class SetColumns {
 public:
  /// `bits`: the row's bits of this lane's tile. `first`: the tile's first column.
  __device__ SetColumns(std::uint64_t bits, NodeId first) : bits_(bits), first_(first) {
    end_ = static_cast<unsigned>(__popcll(bits));
    for (unsigned step = 1; step < Lanes; step *= 2) {
      const unsigned other = __shfl_up_sync(full_warp, end_, step, Lanes);
      if (threadIdx.x % Lanes >= step) end_ += other;
    }
    begin_ = end_ - static_cast<unsigned>(__popcll(bits));
    size_ = __shfl_sync(full_warp, end_, Lanes - 1, Lanes);
  }

  [[nodiscard]] __device__ unsigned size() const { return size_; }

  /// The n-th column. Call it with n = 0, 1, 2 and so on; for n >= size() the result is any number.
  __device__ NodeId next(unsigned n) {
    NodeId column = 0;
    if (n >= begin_ && n < end_) {
      column = first_ + static_cast<NodeId>(__ffsll(static_cast<long long>(bits_)) - 1);
      bits_ &= bits_ - 1;
    }
    const unsigned set = threadIdx.x % 32 / Lanes;
    const unsigned passed = __ballot_sync(full_warp, end_ <= n) >> (set * Lanes);
    const unsigned owner = static_cast<unsigned>(__popc(passed & ((1U << Lanes) - 1)));
    return __shfl_sync(full_warp, column, static_cast<int>(owner), Lanes);
  }

 private:
  std::uint64_t bits_;
  NodeId first_;
  unsigned begin_;
  unsigned end_;
  unsigned size_;
};

/// Counts the neighbors of one row for each set of lanes; `row` is no_row for a set without one.
template <int Lanes, class Args>
__device__ void vote_tile_rows(const Args& args, NodeId row, unsigned word, EdgeOffset begin, EdgeOffset end,
                               std::uint32_t* scratch) {
  const unsigned own = threadIdx.x % Lanes;
  const auto tiles = static_cast<unsigned>(end - begin);
  const unsigned most = __reduce_max_sync(full_warp, tiles);
  const std::size_t stride = half_words(args.x);
  const std::uint32_t* const words = reinterpret_cast<const std::uint32_t*>(args.x.words) + word;
  BitCounter<tile_planes> counter;
  std::uint32_t n = 0;
  for (unsigned t = 0; t < most; t += Lanes) {
    const bool exists = t + own < tiles;
    const EdgeOffset tile = begin + t + own;
    const std::uint64_t bits = exists ? args.a.tile_row(tile, static_cast<int>(row % args.a.side)) : 0;
    const NodeId first = exists ? __ldg(args.a.tile_col_ind + tile) * args.a.side : 0;
    SetColumns<Lanes> columns(bits, first);
    n += columns.size();
    const unsigned longest = __reduce_max_sync(full_warp, columns.size());
    for (unsigned at = 0; at < longest; at += batch) {
      std::uint32_t value[batch] = {};
#pragma unroll
      for (unsigned k = 0; k < batch; ++k) {
        if (k == batch / 2 && longest - at <= batch / 2) break;
        const NodeId j = columns.next(at + k);
        if (at + k < columns.size() && word < stride) value[k] = __ldg(words + j * stride);
      }
      counter.add(value);
    }
  }
  const int planes = static_cast<int>(bits_of(__reduce_max_sync(full_warp, n)));
  emit(args, counter, Counted{word < stride ? row : no_row, word, n}, 32, planes, scratch);
}

template <int Lanes, class Args>
__global__ void __launch_bounds__(block_threads) spmm_vote_tiles(const __grid_constant__ Args args) {
  __shared__ NodeId queues[block_warps][queue_size];
  __shared__ std::uint32_t scratch[block_warps][std::max(any_planes * Lanes, tile_planes * 32)];
  const std::size_t place = (std::size_t{blockIdx.x} * block_threads + threadIdx.x) / Lanes;
  const NodeId row = place < args.a.nrows ? static_cast<NodeId>(place) : no_row;
  const unsigned word = blockIdx.y * 32 + threadIdx.x % Lanes;
  EdgeOffset begin = 0;
  EdgeOffset end = 0;
  if (row != no_row) {
    begin = __ldg(args.a.tile_row_ptr + row / args.a.side);
    end = __ldg(args.a.tile_row_ptr + row / args.a.side + 1);
  }
  if constexpr (Lanes != 32) {
    if (!__any_sync(full_warp, end - begin > many_tiles)) {
      return vote_tile_rows<Lanes>(args, row, word, begin, end, scratch[threadIdx.x / 32]);
    }
  }
  for (unsigned set = 0; set < 32 / Lanes; ++set) {
    const NodeId its_row = __shfl_sync(full_warp, row, set * Lanes);
    if (its_row != no_row)
      vote_tile_row<Lanes>(args, its_row, word, queues[threadIdx.x / 32], scratch[threadIdx.x / 32]);
  }
}

template <int Lanes, class Out>
void launch_tile_vote(const Device& device, const SpmmArgs<AnyTiles, BitsIn, Out>& args, unsigned words) {
  const dim3 grid(blocks_for(std::size_t{args.a.nrows} * Lanes, block_threads), (words + 31) / 32);
  spmm_vote_tiles<Lanes><<<grid, block_threads, 0, stream_of(device)>>>(args);
  cuda_check_launch("spmm_vote_tiles");
}

template <class Out>
void launch_vote(const Device& device, const SpmmArgs<AnyTiles, BitsIn, Out>& args, const Plan& plan) {
  const auto words = static_cast<unsigned>(2 * args.x.words_per_row);
  if (plan.lanes == 8) return launch_tile_vote<8>(device, args, words);
  launch_tile_vote<32>(device, args, words);
}

}  // namespace bitgraph::spmm_cuda
