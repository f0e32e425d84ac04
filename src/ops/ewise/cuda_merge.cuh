// SPDX-License-Identifier: Apache-2.0
// Two matrices' rows merged on a CUDA device. Entries of both, or tiles, are one stream: row by row, within a row by
// column, A's before B's where both have one. Blocks take equal shares of the stream (merge path: Green, McColl and
// Bader 2012), mark what is kept of it, and write it where the marks before it say. An entry that both have is A's; B's
// is never kept.
#pragma once

#include <bitgraph/core/kernel.cuh>
#include "formats/cuda/ranks.cuh"

#include <bitgraph/core/kernel_loop.hpp>
#include <bitgraph/formats/rows_of.cuh>

#include <cstddef>
#include <cstdint>

namespace bitgraph::ewise_cuda {

using detail::kernel_threads;

inline constexpr unsigned share = 2048;  ///< of the stream that a block takes
inline constexpr unsigned share_words = share / 32;

/// Rows of two matrices of one shape: lists of columns.
struct MergeRows {
  NodeId num_rows = 0;
  const EdgeOffset* a_ptr = nullptr;
  const NodeId* a_col = nullptr;
  const EdgeOffset* b_ptr = nullptr;
  const NodeId* b_col = nullptr;
  std::size_t size = 0;  ///< of the stream
};

/// Where a share begins: so many are A's before it; the first is of this row.
struct MergePlace {
  EdgeOffset in_a = 0;
  NodeId row = 0;
};

/// What passes of the stream, a bit each.
struct MergeMarks {
  std::uint32_t* kept = nullptr;
  std::uint32_t* from_b = nullptr;
  std::uint32_t* in_both = nullptr;  ///< of A's
};

/// The first of [low, high) whose column is `column` or more, or is more.
template <bool more>
__device__ unsigned first_behind(const NodeId* columns, unsigned low, unsigned high, NodeId column) {
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    if (more ? columns[middle] <= column : columns[middle] < column) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// A thread the beginning of a share.
static __global__ void __launch_bounds__(kernel_threads)
    find_shares(MergeRows m, MergePlace* places, std::size_t num_shares) {
  const std::size_t n = std::size_t{blockIdx.x} * kernel_threads + threadIdx.x;
  if (n > num_shares) return;
  const EdgeOffset at = min(n * share, m.size);
  NodeId low = 0;
  NodeId high = m.num_rows;
  while (low < high) {  // the last row that begins at or before `at`
    const NodeId middle = low + (high - low + 1) / 2;
    if (m.a_ptr[middle] + m.b_ptr[middle] <= at) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  if (low == m.num_rows) {
    places[n] = {m.a_ptr[low], low};
    return;
  }
  const EdgeOffset a = m.a_ptr[low];
  const EdgeOffset b = m.b_ptr[low];
  const EdgeOffset within = at - a - b;
  const EdgeOffset in_b = m.b_ptr[low + 1] - b;
  EdgeOffset least = within > in_b ? within - in_b : 0;
  EdgeOffset most = min(within, m.a_ptr[low + 1] - a);
  while (least < most) {
    const EdgeOffset middle = (least + most) / 2;
    if (m.a_col[a + middle] <= m.b_col[b + within - 1 - middle]) {
      least = middle + 1;
    } else {
      most = middle;
    }
  }
  places[n] = {a + least, low};
}

/// A block's share: A's [a, a_end) and B's [b, b_end).
struct Share {
  std::size_t begin, end;
  EdgeOffset a, a_end, b, b_end;
  NodeId row, last_row;

  __device__ Share(const MergeRows& m, const MergePlace* places) {
    begin = std::size_t{blockIdx.x} * share;
    end = min(begin + share, m.size);
    const MergePlace first = places[blockIdx.x];
    const MergePlace behind = places[blockIdx.x + 1];
    a = first.in_a;
    a_end = behind.in_a;
    b = begin - a;
    b_end = end - a_end;
    row = first.row;
    last_row = min(behind.row, m.num_rows - 1);
  }
};

/// A share's columns and rows in shared memory.
struct ShareTable {
  NodeId columns[share];  ///< A's, then B's
  detail::RowTable<share> a_rows, b_rows;

  /// For all threads of a block.
  __device__ void load(const MergeRows& m, const Share& own) {
    const auto num_a = static_cast<unsigned>(own.a_end - own.a);
    for (unsigned n = threadIdx.x; n < own.end - own.begin; n += kernel_threads) {
      columns[n] = n < num_a ? m.a_col[own.a + n] : m.b_col[own.b + (n - num_a)];
    }
    a_rows.find(m.a_ptr, own.row, own.last_row, own.a, own.a_end);
    b_rows.find(m.b_ptr, own.row, own.last_row, own.b, own.b_end);
  }
};

/// Where an entry lies in the other matrix.
struct Meeting {
  unsigned before;  ///< of the other's part of the share
  bool both;        ///< the other has it too
};

/// Entry n of A's part.
__device__ inline Meeting meet_b(const MergeRows& m, const Share& own, const ShareTable& table, unsigned n) {
  const EdgeOffset first = m.b_ptr[table.a_rows.row[n]];
  const EdgeOffset end = m.b_ptr[table.a_rows.row[n] + 1];
  const NodeId* columns = table.columns + (own.a_end - own.a);
  const auto low = static_cast<unsigned>(first > own.b ? first - own.b : 0);
  const auto high = static_cast<unsigned>(min(end, own.b_end) - own.b);
  const unsigned before = first_behind<false>(columns, low, high, table.columns[n]);
  if (before < high) return {before, columns[before] == table.columns[n]};
  return {before, own.b + before < end && m.b_col[own.b + before] == table.columns[n]};
}

/// Entry n of B's part.
__device__ inline Meeting meet_a(const MergeRows& m, const Share& own, const ShareTable& table, unsigned n) {
  const EdgeOffset first = m.a_ptr[table.b_rows.row[n]];
  const EdgeOffset end = m.a_ptr[table.b_rows.row[n] + 1];
  const NodeId column = table.columns[own.a_end - own.a + n];
  const auto low = static_cast<unsigned>(first > own.a ? first - own.a : 0);
  const auto high = static_cast<unsigned>(min(end, own.a_end) - own.a);
  const unsigned before = first_behind<true>(table.columns, low, high, column);
  if (before > low) return {before, table.columns[before - 1] == column};
  return {before, own.a + before > first && m.a_col[own.a + before - 1] == column};
}

/// Marks a share. Rule: kept_alone(from_b), and kept_in_both(A's place, B's place).
template <class Rule>
__global__ void __launch_bounds__(kernel_threads)
    mark_shares(MergeRows m, const MergePlace* places, Rule rule, MergeMarks marks) {
  __shared__ ShareTable table;
  __shared__ std::uint32_t kept[share_words], from_b[share_words], in_both[share_words];
  for (unsigned w = threadIdx.x; w < share_words; w += kernel_threads) kept[w] = from_b[w] = in_both[w] = 0;
  const Share own(m, places);
  table.load(m, own);
  for (unsigned n = threadIdx.x; n < own.a_end - own.a; n += kernel_threads) {
    const Meeting met = meet_b(m, own, table, n);
    const unsigned at = n + met.before;
    const bool is_kept = met.both ? rule.kept_in_both(own.a + n, own.b + met.before) : rule.kept_alone(false);
    if (is_kept) atomicOr(&kept[at / 32], 1U << (at % 32));
    if (met.both) atomicOr(&in_both[at / 32], 1U << (at % 32));
  }
  for (unsigned n = threadIdx.x; n < own.b_end - own.b; n += kernel_threads) {
    const Meeting met = meet_a(m, own, table, n);
    const unsigned at = n + met.before;
    atomicOr(&from_b[at / 32], 1U << (at % 32));
    if (!met.both && rule.kept_alone(true)) atomicOr(&kept[at / 32], 1U << (at % 32));
  }
  __syncthreads();
  for (unsigned w = threadIdx.x; w < share_words && own.begin + w * 32 < own.end; w += kernel_threads) {
    marks.kept[own.begin / 32 + w] = kept[w];
    marks.from_b[own.begin / 32 + w] = from_b[w];
    marks.in_both[own.begin / 32 + w] = in_both[w];
  }
}

/// Where what is kept of a share comes from, counted from its beginnings in A and B.
struct Kept {
  static constexpr std::uint16_t none = 0xFFFF;
  std::uint16_t a, b;
};

/// The share's marks, in shared memory, with how many bits are before each word.
struct ShareMarks {
  std::uint32_t kept[share_words], from_b[share_words];
  std::uint16_t kept_before[share_words], from_b_before[share_words];

  /// For all threads of a block.
  __device__ void load(const Share& own, const MergeMarks& marks) {
    for (unsigned w = threadIdx.x; w < share_words; w += kernel_threads) {
      const bool there = own.begin + w * 32 < own.end;
      kept[w] = there ? marks.kept[own.begin / 32 + w] : 0;
      from_b[w] = there ? marks.from_b[own.begin / 32 + w] : 0;
    }
    __syncthreads();
    if (threadIdx.x < 2 * share_words) {
      const std::uint32_t* words = threadIdx.x < share_words ? kept : from_b;
      unsigned sum = 0;
      for (unsigned w = 0; w < threadIdx.x % share_words; ++w) sum += __popc(words[w]);
      (threadIdx.x < share_words ? kept_before : from_b_before)[threadIdx.x % share_words] =
          static_cast<std::uint16_t>(sum);
    }
    __syncthreads();
  }

  [[nodiscard]] __device__ unsigned num_kept() const {
    return kept_before[share_words - 1] + __popc(kept[share_words - 1]);
  }

  /// fn(place among those kept, where it comes from) for what the thread has of the share.
  template <class Fn>
  __device__ void for_each_kept(const Share& own, const MergeMarks& marks, const Fn& fn) const {
    static_assert(2 * share_words <= kernel_threads && share < Kept::none);
    for (unsigned at = threadIdx.x; at < share; at += kernel_threads) {
      const unsigned w = at / 32;
      const std::uint32_t below = (1U << (at % 32)) - 1;
      if ((kept[w] >> (at % 32) & 1U) == 0) continue;
      const unsigned b = from_b_before[w] + __popc(from_b[w] & below);
      const bool is_b = (from_b[w] >> (at % 32) & 1U) != 0;
      const bool both = (marks.in_both[own.begin / 32 + w] >> (at % 32) & 1U) != 0;
      const Kept from{is_b ? Kept::none : static_cast<std::uint16_t>(at - b),
                      is_b || both ? static_cast<std::uint16_t>(b) : Kept::none};
      fn(kept_before[w] + __popc(kept[w] & below), from);
    }
  }
};

static __global__ void __launch_bounds__(kernel_threads)
    rank_merged_rows(MergeRows m, cuda_formats::RankView kept, EdgeOffset* row_ptr) {
  const std::size_t i = std::size_t{blockIdx.x} * kernel_threads + threadIdx.x;
  if (i <= m.num_rows) row_ptr[i] = kept.rank(m.a_ptr[i] + m.b_ptr[i]);
}

/// The marked stream, and what becomes of it.
class Merge {
 public:
  template <class Rule>
  Merge(const Device& device, const MergeRows& rows, const Rule& rule)
      : rows_(rows),
        kept_(rows.size, device),
        from_b_(rows.size, device),
        in_both_(rows.size, device),
        num_shares_((rows.size + share - 1) / share),
        places_(num_shares_ + 1, device) {
    if (num_shares_ == 0) return;
    find_shares<<<blocks_for(num_shares_ + 1, kernel_threads), kernel_threads, 0, stream_of(device)>>>(
        rows_, places_.data(), num_shares_);
    cuda_check_launch("find_shares");
    mark_shares<<<static_cast<unsigned>(num_shares_), kernel_threads, 0, stream_of(device)>>>(rows_, places_.data(),
                                                                                              rule, marks());
    cuda_check_launch("mark_shares");
  }

  [[nodiscard]] MergeMarks marks() noexcept { return {words_of(kept_), words_of(from_b_), words_of(in_both_)}; }
  [[nodiscard]] const BitVector& kept() const noexcept { return kept_; }
  [[nodiscard]] const MergePlace* places() const noexcept { return places_.data(); }
  [[nodiscard]] unsigned num_shares() const noexcept { return static_cast<unsigned>(num_shares_); }

  [[nodiscard]] Buffer<EdgeOffset> row_ptr(const cuda_formats::Ranks& ranks) const {
    const Device& device = kept_.device();
    Buffer<EdgeOffset> row_ptr(std::size_t{rows_.num_rows} + 1, device);
    rank_merged_rows<<<blocks_for(row_ptr.size(), kernel_threads), kernel_threads, 0, stream_of(device)>>>(
        rows_, ranks.view(), row_ptr.data());
    cuda_check_launch("rank_merged_rows");
    return row_ptr;
  }

 private:
  static std::uint32_t* words_of(BitVector& bits) { return reinterpret_cast<std::uint32_t*>(bits.words().data()); }

  MergeRows rows_;
  BitVector kept_, from_b_, in_both_;
  std::size_t num_shares_;
  Buffer<MergePlace> places_;
};

}  // namespace bitgraph::ewise_cuda
