// SPDX-License-Identifier: Apache-2.0
// Merge-path schedule of pattern CSR on a CUDA device: every span has the same number of rows plus entries, for all
// degrees. A row may continue over several spans.
#pragma once

#include <bitgraph/formats/views.hpp>

#include "ops/spmm/cuda/block.hpp"

#include <cstddef>

namespace bitgraph::spmm_cuda {

/// The rows that end in a span, and its entries.
struct Span {
  unsigned items;  ///< rows and entries of a span
  NodeId row, end_row;
  EdgeOffset entry;  ///< the first
  unsigned count;
  EdgeOffset first_begin;  ///< where the first row begins, here or earlier
  bool continues;          ///< the first entry is of a row that began earlier
  bool only_ends;          ///< the first row ends here without an entry of its own in the span
};

/// Span number `index`; for a whole block.
__device__ inline Span find_span(const CsrPatternView& a, unsigned items, std::size_t index) {
  const EdgeOffset total = EdgeOffset{a.nrows} + a.num_entries;
  const EdgeOffset first = index * items;
  const EdgeOffset end = min(first + items, total);
  Span span;
  span.items = items;
  if (items >= csr_chunk_items) {
    const std::size_t step = items / csr_chunk_items;
    span.row = __ldg(a.chunk_row + index * step);
    span.end_row = __ldg(a.chunk_row + min((index + 1) * step, std::size_t{a.num_chunks}));
  } else {
    // A part of a chunk: rows that end before a place on the merge path of row ends and entries.
    const NodeId low = __ldg(a.chunk_row + first / csr_chunk_items);
    const NodeId high = __ldg(a.chunk_row + first / csr_chunk_items + 1);
    span.row = span.end_row = low;
    for (NodeId begin = low; begin < high; begin += block_threads) {
      const NodeId row = begin + threadIdx.x;
      const EdgeOffset place = row < high ? __ldg(a.row_ptr + row + 1) + row : end;
      span.row += static_cast<NodeId>(__syncthreads_count(place < first ? 1 : 0));
      span.end_row += static_cast<NodeId>(__syncthreads_count(place < end ? 1 : 0));
    }
  }
  span.entry = first - span.row;
  span.count = static_cast<unsigned>(end - span.end_row - span.entry);
  span.first_begin = span.row < a.nrows ? __ldg(a.row_ptr + span.row) : span.entry;
  const bool began = span.first_begin < span.entry;
  span.only_ends = began && span.row < span.end_row && __ldg(a.row_ptr + span.row + 1) == span.entry;
  span.continues = began && !span.only_ends;
  return span;
}

/// Items of a span, `most` at most, such that `slices` slices of blocks end soonest: in rounds of as many as run at
/// once, each of which takes so much longer than its items as `bringing` of them take.
inline unsigned span_items(const CsrPatternView& a, unsigned most, std::size_t at_once, unsigned slices,
                           std::size_t bringing) {
  const std::size_t total = std::size_t{a.nrows} + a.num_entries;
  unsigned best = most;
  std::size_t least = ~std::size_t{0};
  for (unsigned items = cuda_spmm_tuning().sum.least_span_items; items <= most; items *= 2) {
    const std::size_t rounds = ((total + items - 1) / items * slices + at_once - 1) / at_once;
    if (rounds * (items + bringing) < least) {
      best = items;
      least = rounds * (items + bringing);
    }
  }
  return best;
}

}  // namespace bitgraph::spmm_cuda
