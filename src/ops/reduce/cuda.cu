// SPDX-License-Identifier: Apache-2.0
// Counts on a CUDA device: of bits, and of the entries of rows and columns. Entries and tiles are shared out evenly,
// whatever rows they are of, and counts added up in memory: integers, so that the order does not matter.
#include "ops/reduce/reduce.hpp"

#include "core/cuda.cuh"

#include <bitgraph/core/kernel_loop.hpp>
#include <bitgraph/formats/rows_of.cuh>

#include <algorithm>

namespace bitgraph {

namespace {

using detail::kernel_threads;
using detail::whole_warp;

constexpr unsigned words_a_thread = 8;

__global__ void __launch_bounds__(kernel_threads) count_words(BitsArgs args, unsigned long long* count) {
  const std::size_t step = std::size_t{gridDim.x} * kernel_threads;
  unsigned own = 0;  // a thread has fewer than 2^26 words
  for (std::size_t first = std::size_t{blockIdx.x} * kernel_threads + threadIdx.x; first < args.num_words;
       first += words_a_thread * step) {
    std::uint64_t words[words_a_thread];
#pragma unroll
    for (unsigned k = 0; k < words_a_thread; ++k)
      words[k] = first + k * step < args.num_words ? args.words[first + k * step] : 0;
#pragma unroll
    for (unsigned k = 0; k < words_a_thread; ++k) own += __popcll(words[k]);
  }
  const unsigned sum = __reduce_add_sync(whole_warp, own);
  if (threadIdx.x % 32 == 0 && sum != 0) atomicAdd(count, static_cast<unsigned long long>(sum));
}

/// sums(i) = entries of row i.
struct DegreeLoop {
  const EdgeOffset* row_ptr;
  NodeId* sums;
  __device__ NodeId take(std::size_t i) const { return static_cast<NodeId>(row_ptr[i + 1] - row_ptr[i]); }
  __device__ void put(std::size_t i, NodeId sum) const { sums[i] = sum; }
};

/// sums(column) += 1 for each entry.
struct ColumnLoop {
  const NodeId* col_ind;
  NodeId* sums;
  __device__ NodeId take(std::size_t e) const { return col_ind[e]; }
  __device__ void put(std::size_t, NodeId column) const { atomicAdd(sums + column, 1U); }
};

constexpr unsigned tile_turns = 4;
template <int K>
inline constexpr unsigned tiles_a_block = tile_turns* kernel_threads / K;

/// A lane a row of a tile; a tile row that a warp's tiles are all of is added up among its lanes first.
template <int K>
__global__ void __launch_bounds__(kernel_threads)
    count_tile_rows(BitTileView<K> a, EdgeOffset num_tiles, NodeId* sums) {
  __shared__ NodeId bound[2];
  const EdgeOffset begin = EdgeOffset{blockIdx.x} * tiles_a_block<K>;
  const EdgeOffset last = min(begin + tiles_a_block<K>, num_tiles) - 1;
  if (threadIdx.x < 64) {
    const NodeId row = detail::row_of_by_warp(a.tile_row_ptr, 0, a.num_tile_rows - 1, threadIdx.x < 32 ? begin : last);
    if (threadIdx.x % 32 == 0) bound[threadIdx.x / 32] = row;
  }
  __syncthreads();
  const unsigned r = threadIdx.x % K;
  for (unsigned turn = 0; turn < tile_turns; ++turn) {
    const EdgeOffset t = begin + (turn * kernel_threads + threadIdx.x) / K;
    const bool there = t <= last;
    const NodeId tile_row = there ? detail::row_of(a.tile_row_ptr, bound[0], bound[1], t) : bound[1];
    unsigned entries = there ? __popcll(a.tile_row(t, static_cast<int>(r))) : 0;
    const bool together = K < 32 && __all_sync(whole_warp, tile_row == __shfl_sync(whole_warp, tile_row, 0)) != 0;
    if (together) {
      for (unsigned apart = 16; apart >= K; apart /= 2) entries += __shfl_xor_sync(whole_warp, entries, apart);
    }
    if (entries != 0 && (!together || threadIdx.x % 32 < K)) atomicAdd(sums + std::size_t{tile_row} * K + r, entries);
  }
}

/// A lane a storage word of a tile.
template <int K>
struct TileColumnLoop {
  struct Word {
    NodeId column;
    std::uint64_t bits;
  };
  BitTileView<K> a;
  NodeId* sums;
  __device__ Word take(std::size_t w) const { return {a.tile_col_ind[w / tile_words<K>] * K, a.bit_tiles[w]}; }
  __device__ void put(std::size_t, const Word& word) const {
    for (std::uint64_t bits = word.bits; bits != 0; bits &= bits - 1) {
      const unsigned bit = __ffsll(static_cast<long long>(bits)) - 1;
      atomicAdd(sums + word.column + (K == 4 ? bit % 4 : bit), 1U);
    }
  }
};

}  // namespace

std::size_t count_bits(const Cuda& backend, const BitsArgs& args) {
  if (args.num_words == 0) return 0;
  const ScopedCudaDevice scope(backend.device.index());
  const cudaStream_t stream = stream_of(backend.device);
  constexpr unsigned most_blocks = 2048;
  auto* count = static_cast<unsigned long long*>(backend.device.workspace(sizeof(unsigned long long)));
  cuda_check(cudaMemsetAsync(count, 0, sizeof(*count), stream), "cudaMemsetAsync");
  const unsigned blocks = std::min(most_blocks, blocks_for(args.num_words, kernel_threads * words_a_thread));
  count_words<<<blocks, kernel_threads, 0, stream>>>(args, count);
  cuda_check_launch("count_words");
  unsigned long long sum = 0;
  Device::copy(&sum, Device{}, count, backend.device, sizeof(sum));
  return sum;
}

void row_sums(const Cuda& backend, const CsrPattern& a, Buffer<NodeId>& sums) {
  detail::kernel_loop(backend.device, a.nrows(), DegreeLoop{a.row_ptr().data(), sums.data()});
}

void row_sums(const Cuda& backend, const BitTileMatrix& a, Buffer<NodeId>& sums) {
  sums.fill(0);
  if (a.num_tiles() == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  with_tile_dim(a.tile_dim(), [&](auto k) {
    const unsigned blocks = blocks_for(a.num_tiles(), tiles_a_block<k()>);
    count_tile_rows<k()>
        <<<blocks, kernel_threads, 0, stream_of(backend.device)>>>(a.view<k()>(), a.num_tiles(), sums.data());
  });
  cuda_check_launch("count_tile_rows");
}

void column_sums(const Cuda& backend, const CsrPattern& a, Buffer<NodeId>& sums) {
  sums.fill(0);
  detail::kernel_loop(backend.device, a.nvals(), ColumnLoop{a.col_ind().data(), sums.data()});
}

void column_sums(const Cuda& backend, const BitTileMatrix& a, Buffer<NodeId>& sums) {
  sums.fill(0);
  with_tile_dim(a.tile_dim(), [&](auto k) {
    detail::kernel_loop(backend.device, a.num_tiles() * tile_words<k()>,
                        TileColumnLoop<k()>{a.view<k()>(), sums.data()});
  });
}

}  // namespace bitgraph
