// SPDX-License-Identifier: Apache-2.0
// Chunks of a pattern's rows and entries, counted together, one a warp: work is even whatever the degrees.
//
// A chunk has the rows that end in it. Rows of at most `Limit` entries are not cut: the chunk takes the whole of its
// first row, and leaves the beginning of a row that ends later to the chunk where it ends. A longer row is cut where
// chunks end. Each chunk leaves its partial sum of such a row, and the chunk in which the row ends adds these up in
// order, so that sums do not depend on timing.
#pragma once

#include <bitgraph/core/kernel.cuh>
#include <bitgraph/formats/views.hpp>

#include <cstdint>

namespace bitgraph::mxv_cuda {

/// Rows first .. end - 1.
struct RowRange {
  NodeId first, end;
};

/// Of the rows of one of the pattern's chunks, those that end at items first .. end - 1 of all rows and entries. For a
/// whole warp: every stride-th row is looked at, then those between.
__device__ inline RowRange rows_ending_at(const CsrPatternView& a, RowRange rows, EdgeOffset first, EdgeOffset end) {
  const unsigned lane = threadIdx.x % 32;
  const NodeId stride = (rows.end - rows.first) / 32 + 1;
  const auto ends_before = [&](NodeId r, EdgeOffset item) {
    return r < rows.end && __ldg(a.row_ptr + r + 1) + r < item;
  };
  const NodeId sample = rows.first + (lane + 1) * stride - 1;
  RowRange found{rows.first + stride * __popc(__ballot_sync(full_warp, ends_before(sample, first))),
                 rows.first + stride * __popc(__ballot_sync(full_warp, ends_before(sample, end)))};
  if (stride > 1) {
    static_assert(csr_chunk_items <= 512, "at most 16 rows lie between two that are looked at");
    const bool is_first = lane < 16;
    const bool between = lane % 16 < stride - 1;
    const NodeId r = (is_first ? found.first : found.end) + lane % 16;
    const unsigned before = __ballot_sync(full_warp, between && ends_before(r, is_first ? first : end));
    found.first += __popc(before & 0xFFFFU);
    found.end += __popc(before >> 16U);
  }
  return found;
}

/// The place of a chunk of `Items` rows and entries.
template <unsigned Items, unsigned Limit>
struct Chunk {
  NodeId row, end_row;   ///< rows that end here
  EdgeOffset entry;      ///< the first that is taken
  unsigned num_entries;  ///< that are taken: fewer than Items + Limit
  unsigned before;       ///< entries of the first row that earlier chunks have
  NodeId end_of_all;     ///< the end of the rows that have anything here

  static_assert(csr_chunk_items % Items == 0);

  [[nodiscard]] __host__ __device__ static NodeId count(const CsrPatternView& a) {
    return static_cast<NodeId>((EdgeOffset{a.nrows} + a.num_entries + Items - 1) / Items);
  }

  /// For a whole warp.
  __device__ static Chunk at(const CsrPatternView& a, NodeId c) {
    constexpr unsigned parts = csr_chunk_items / Items;
    const EdgeOffset item = EdgeOffset{c} * Items;
    const EdgeOffset end_item = min(item + Items, EdgeOffset{a.nrows} + a.num_entries);
    RowRange rows{__ldg(a.chunk_row + c / parts), __ldg(a.chunk_row + c / parts + 1)};
    if constexpr (parts != 1) rows = rows_ending_at(a, rows, item, end_item);
    const Row first = Row::at(a, rows.first);
    const Row last = Row::at(a, rows.end);
    Chunk chunk;
    chunk.row = rows.first;
    chunk.end_row = rows.end;
    chunk.entry = first.is_cut() ? item - rows.first : first.begin;
    chunk.before = static_cast<unsigned>(chunk.entry - first.begin);
    chunk.num_entries = static_cast<unsigned>((last.is_cut() ? end_item - rows.end : last.begin) - chunk.entry);
    chunk.end_of_all = rows.end + (rows.end < a.nrows ? 1 : 0);
    return chunk;
  }

  [[nodiscard]] __device__ NodeId num_rows() const { return end_row - row; }

  /// Whether the first row began in earlier chunks.
  [[nodiscard]] __device__ bool continues() const { return before != 0; }

  /// The chunk in which the first row begins.
  [[nodiscard]] __device__ NodeId first_chunk(NodeId c) const { return c - (before + Items - 1) / Items; }

  /// Where a row that ends here ends, counted from the first entry.
  [[nodiscard]] __device__ unsigned end_of(const CsrPatternView& a, NodeId r) const {
    return low_bits(a.row_ptr + r + 1) - static_cast<std::uint32_t>(entry);
  }

 private:
  /// Row nrows begins and ends behind the last entry.
  struct Row {
    EdgeOffset begin, end;
    __device__ static Row at(const CsrPatternView& a, NodeId r) {
      return {__ldg(a.row_ptr + r), __ldg(a.row_ptr + min(r + 1, a.nrows))};
    }
    [[nodiscard]] __device__ bool is_cut() const { return end - begin > Limit; }
  };

  /// Entries of a chunk are told apart by the low bits of their positions.
  __device__ static std::uint32_t low_bits(const EdgeOffset* place) {
    return __ldg(reinterpret_cast<const std::uint32_t*>(place));
  }
};

/// The columns of the entries that a warp gathers at once, `a_lane` for each lane; 0 beyond the last.
template <unsigned a_lane>
struct Columns {
  static constexpr unsigned together = a_lane * 32;
  NodeId of[a_lane];

  template <class Place>
  __device__ static Columns load(const CsrPatternView& a, const Place& chunk, unsigned from) {
    Columns columns;
    const NodeId* first = a.col_ind + chunk.entry;
    const unsigned own = from + threadIdx.x % 32;
    if (from + together <= chunk.num_entries) {
      for (unsigned k = 0; k < a_lane; ++k) columns.of[k] = __ldcs(first + own + k * 32);
    } else {
      for (unsigned k = 0; k < a_lane; ++k) {
        columns.of[k] = own + k * 32 < chunk.num_entries ? __ldcs(first + own + k * 32) : 0;
      }
    }
    return columns;
  }
};

}  // namespace bitgraph::mxv_cuda
