// SPDX-License-Identifier: Apache-2.0
// Counts on a CUDA device: of bits, and of the entries of rows and columns. Those of columns are added up in memory:
// integers, so that the order does not matter. Rows of tiles are a product that counts.
#include "ops/reduce/reduce.hpp"

#include <bitgraph/core/kernel.cuh>

#include <bitgraph/core/kernel_loop.hpp>
#include <bitgraph/ops/mxv_with.hpp>

#include <algorithm>

namespace bitgraph {

namespace {

using detail::kernel_threads;

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
  const unsigned sum = __reduce_add_sync(full_warp, own);
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
  with_tile_dim(a.tile_dim(), [&](auto k) {
    const detail::MxvWithWork<PlusPair, NodeId, BitTileView<k()>> work{a.view<k()>(), nullptr, sums.data(), nullptr,
                                                                       false,         false,   false};
    detail::mxv_with_on_device(work, backend.device, a.num_tiles());
  });
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
