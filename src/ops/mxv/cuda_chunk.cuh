// SPDX-License-Identifier: Apache-2.0
// Chunks of a pattern's rows and entries, counted together, and what they hand on to one another: a row that goes on in
// later chunks leaves what it has so far; the chunk in which it ends takes up those parts in order, so sums do not
// depend on timing.
#pragma once

#include "ops/mxv/cuda_rules.cuh"

#include <cuda/atomic>

namespace bitgraph::mxv_cuda {

/// Parts of rows that end in a later chunk: a value and whether it is there yet.
template <class T>
struct Tails {
  T* value = nullptr;
  std::uint32_t* ready = nullptr;  ///< zero between calls

  __device__ void leave(NodeId c, T sum) const {
    value[c] = sum;
    cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>(ready[c]).store(1, cuda::memory_order_release);
  }

  /// What the chunks first .. c - 1 have of a row, in their order. For a whole warp; lane 0 has it.
  template <class S>
  __device__ T take(NodeId first, NodeId c) const {
    T earlier = S::template identity<T>();
    for (NodeId p = first + threadIdx.x % 32; p < c; p += 32) {
      cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device> is_ready(ready[p]);
      while (is_ready.load(cuda::memory_order_acquire) == 0) {
      }
      earlier = S::add(earlier, __ldcg(&value[p]));
      is_ready.store(0, cuda::memory_order_relaxed);
    }
    return reduce_warp<S>(earlier);
  }
};

/// A chunk of `Items` rows and entries: its place.
template <unsigned Items>
struct Chunk {
  NodeId row, end_row;  ///< rows that end here; row end_row goes on
  EdgeOffset entry;     ///< the first
  unsigned num_entries;
  EdgeOffset first_begin;  ///< where the first row begins, here or in an earlier chunk

  static_assert(Items % csr_chunk_items == 0);
  static constexpr NodeId table_step = Items / csr_chunk_items;

  [[nodiscard]] __host__ __device__ static NodeId count(const CsrPatternView& a) {
    return (a.num_chunks + table_step - 1) / table_step;
  }

  __device__ static Chunk at(const CsrPatternView& a, NodeId c) {
    const EdgeOffset items = EdgeOffset{a.nrows} + a.num_entries;
    Chunk chunk;
    chunk.row = __ldg(a.chunk_row + c * table_step);
    chunk.end_row = __ldg(a.chunk_row + min((c + 1) * table_step, a.num_chunks));
    chunk.entry = EdgeOffset{c} * Items - chunk.row;
    const EdgeOffset end = min((EdgeOffset{c} + 1) * Items, items) - chunk.end_row;
    chunk.num_entries = static_cast<unsigned>(end - chunk.entry);
    chunk.first_begin = chunk.row < a.nrows ? __ldg(a.row_ptr + chunk.row) : chunk.entry;
    return chunk;
  }

  [[nodiscard]] __device__ bool continues() const { return first_begin < entry; }

  /// The chunk in which the first row begins: as many rows and entries as lie before the row lie before that chunk, or
  /// in it.
  [[nodiscard]] __device__ NodeId first_chunk() const { return static_cast<NodeId>((row + first_begin) / Items); }

  /// The end of the rows that have anything here.
  [[nodiscard]] __device__ NodeId end_of_all(NodeId nrows) const { return end_row + (end_row < nrows ? 1 : 0); }
};

/// The rows begin .. end - 1 among 32 w .. 32 w + 31, as bits.
__device__ inline std::uint32_t rows_of_word(std::size_t w, NodeId begin, NodeId end) {
  std::uint32_t bits = ~0U;
  if (w == begin / 32) bits &= ~0U << (begin % 32);
  if (w == (end - 1) / 32) bits &= ~0U >> (31 - (end - 1) % 32);
  return bits;
}

/// Whether any of `threads` threads, this one is number `thread`, sees a row of begin .. end - 1 that the mask selects.
__device__ inline bool sees_selected(const OutputRule& rule, NodeId begin, NodeId end, unsigned thread,
                                     unsigned threads) {
  bool any = false;
  for (NodeId w = begin / 32 + thread; w <= (end - 1) / 32; w += threads) {
    any |= (selected_word(rule, w) & rows_of_word(w, begin, end)) != 0;
  }
  return any;
}

}  // namespace bitgraph::mxv_cuda
