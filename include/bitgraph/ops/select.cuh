// SPDX-License-Identifier: Apache-2.0
// select() on a CUDA device, by any function. Included by select.hpp where nvcc compiles it.
#pragma once

#include <bitgraph/core/kernel_loop.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/bit_vector.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/rows_of.cuh>

#include <cstddef>
#include <cstdint>

namespace bitgraph::detail {

inline constexpr unsigned flags_a_thread = 4;
inline constexpr unsigned flags_a_block = kernel_threads * flags_a_thread;

/// Bits `first` + 32 k + lane of a set, for k below flags_a_thread: a warp's share.
__device__ inline void store_flags(std::uint32_t* words, std::size_t first, std::size_t size,
                                   const bool (&kept)[flags_a_thread]) {
#pragma unroll
  for (unsigned k = 0; k < flags_a_thread; ++k) {
    const std::uint32_t word = __ballot_sync(full_warp, kept[k]);
    if (threadIdx.x % 32 == 0 && first + k * 32 < size) words[first / 32 + k] = word;
  }
}

/// A block an equal share of the entries, whose rows are looked for among those of its first and its last.
template <class Keep>
__global__ void __launch_bounds__(kernel_threads)
    flag_entries(CsrPatternView a, EdgeOffset nvals, Keep keep, std::uint32_t* words) {
  __shared__ RowTable<flags_a_block> rows;
  const EdgeOffset begin = EdgeOffset{blockIdx.x} * flags_a_block;
  rows.find(a.row_ptr, a.nrows, begin, min(begin + flags_a_block, nvals));
  const EdgeOffset first = begin + threadIdx.x / 32 * 32 * flags_a_thread;
  NodeId column[flags_a_thread];
  bool kept[flags_a_thread];
#pragma unroll
  for (unsigned k = 0; k < flags_a_thread; ++k) {
    column[k] = a.col_ind[min(first + k * 32 + threadIdx.x % 32, nvals - 1)];
  }
#pragma unroll
  for (unsigned k = 0; k < flags_a_thread; ++k) {
    const EdgeOffset e = first + k * 32 + threadIdx.x % 32;
    kept[k] = e < nvals && keep(rows.row[e - begin], column[k]);
  }
  store_flags(words, first, nvals, kept);
}

template <class T, class Keep>
__global__ void __launch_bounds__(kernel_threads)
    flag_elements(const T* x, std::size_t size, Keep keep, std::uint32_t* words) {
  const std::size_t first = (std::size_t{blockIdx.x} * kernel_threads + threadIdx.x) / 32 * 32 * flags_a_thread;
  bool kept[flags_a_thread];
#pragma unroll
  for (unsigned k = 0; k < flags_a_thread; ++k) {
    const std::size_t i = first + k * 32 + threadIdx.x % 32;
    kept[k] = i < size && keep(x[i]);
  }
  store_flags(words, first, size, kept);
}

template <int K>
inline constexpr unsigned kept_tiles_a_block = (K <= 8 ? 4 : 1) * kernel_threads;

/// The bits of tiles that are kept: a thread a storage word of a tile at a time.
template <int K, class Keep>
__global__ void __launch_bounds__(kernel_threads)
    keep_bits(BitTileView<K> a, EdgeOffset num_tiles, Keep keep, TileWord<K>* kept) {
  constexpr unsigned words = tile_words<K>;
  __shared__ RowTable<kept_tiles_a_block<K>> rows;
  const EdgeOffset begin = EdgeOffset{blockIdx.x} * kept_tiles_a_block<K>;
  const EdgeOffset end = min(begin + kept_tiles_a_block<K>, num_tiles);
  rows.find(a.tile_row_ptr, a.num_tile_rows, begin, end);
  for (unsigned w = threadIdx.x; w < (end - begin) * words; w += kernel_threads) {
    const NodeId row = rows.row[w / words] * K + (K == 4 ? 0 : w % words);
    const NodeId column = a.tile_col_ind[begin + w / words] * K;
    std::uint64_t left = 0;
    for (std::uint64_t bits = a.bit_tiles[begin * words + w]; bits != 0; bits &= bits - 1) {
      const unsigned at = __ffsll(static_cast<long long>(bits)) - 1;
      const bool is_kept = keep(K == 4 ? row + at / 4 : row, K == 4 ? column + at % 4 : column + at);
      left |= std::uint64_t{is_kept} << at;
    }
    kept[begin * words + w] = static_cast<TileWord<K>>(left);
  }
}

template <class Keep>
CsrPattern select_on_device(const CsrPattern& a, const Keep& keep) {
  BitVector kept(a.nvals(), a.device());
  if (a.nvals() != 0) {
    const ScopedCudaDevice scope(a.device().index());
    flag_entries<<<kernel_blocks(a.nvals(), flags_a_block), kernel_threads, 0, stream_of(a.device())>>>(
        a.view(), a.nvals(), keep, reinterpret_cast<std::uint32_t*>(kept.words().data()));
    cuda_check_launch("select");
  }
  return entries_in(a, kept);
}

template <class Keep>
BitTileMatrix select_on_device(const BitTileMatrix& a, const Keep& keep) {
  Buffer<std::byte> bits(a.bit_tiles().size(), a.device());
  if (a.num_tiles() != 0) {
    const ScopedCudaDevice scope(a.device().index());
    with_tile_dim(a.tile_dim(), [&](auto k) {
      constexpr int side = decltype(k)::value;
      keep_bits<side>
          <<<kernel_blocks(a.num_tiles(), kept_tiles_a_block<side>), kernel_threads, 0, stream_of(a.device())>>>(
              a.template view<side>(), a.num_tiles(), keep, reinterpret_cast<TileWord<side>*>(bits.data()));
    });
    cuda_check_launch("select");
  }
  return tiles_with(a, bits);
}

template <class T, class Keep>
void select_on_device(BitVector& kept, const Buffer<T>& x, const Keep& keep) {
  if (x.empty()) return;
  const ScopedCudaDevice scope(x.device().index());
  flag_elements<<<kernel_blocks(x.size(), flags_a_block), kernel_threads, 0, stream_of(x.device())>>>(
      x.data(), x.size(), keep, reinterpret_cast<std::uint32_t*>(kept.words().data()));
  cuda_check_launch("select");
}

}  // namespace bitgraph::detail
