// SPDX-License-Identifier: Apache-2.0
// Long tile rows on a CUDA device: a block marks the tile columns that the entries touch in a bitmap in shared memory,
// a window of the matrix at a time; sums over the marks number the tiles. Very long tile rows are cut into strips of
// columns, each a task of its own.
#pragma once

#include <bitgraph/formats/views.hpp>

#include "formats/cuda/tile_sort.cuh"

#include <cstdint>

namespace bitgraph::cuda_formats {

/// Threads of a block. Larger tiles take longer to write, by more of them.
template <int K>
inline constexpr unsigned marks_threads = K < 32 ? 256 : 512;

inline constexpr EdgeOffset strip_entries = 8192;  ///< of a strip, about

/// A strip of a long tile row. The strips of a tile row follow one another in the list of tasks.
struct PackTask {
  NodeId tile_row;
  NodeId strip;
};

__host__ __device__ constexpr EdgeOffset strips_of(EdgeOffset entries) {
  return (entries + strip_entries - 1) / strip_entries;
}

/// The first position in [begin, end) whose column is not below `column`.
__device__ inline EdgeOffset first_at_least(const NodeId* col_ind, EdgeOffset begin, EdgeOffset end,
                                            std::uint64_t column) {
  while (begin < end) {
    const EdgeOffset middle = (begin + end) / 2;
    if (col_ind[middle] < column) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

/// A block's bitmap: cells of 64 tile columns, and how many marks are before each in its warp's share of them.
template <int K>
struct TileMarks {
  static constexpr unsigned cell = 64;
  static constexpr unsigned cells = 4096;
  static constexpr unsigned width = cell * cells;
  static constexpr unsigned threads = marks_threads<K>;
  static constexpr unsigned warps = threads / 32;
  static constexpr unsigned share = cells / warps;  ///< of a warp

  alignas(16) std::uint64_t word[cells];
  alignas(4) std::uint16_t before[cells];
  unsigned before_warp[warps];
  unsigned warp_sum[warps];

  __device__ void clear(unsigned used_cells) {
    auto* const pair = reinterpret_cast<uint4*>(word);
    for (unsigned p = threadIdx.x; 2 * p < used_cells; p += threads) pair[p] = make_uint4(0, 0, 0, 0);
  }

  __device__ void add(unsigned c) { atomicOr(reinterpret_cast<unsigned*>(word) + c / 32, 1U << (c % 32)); }

  /// The same; whether there was no mark.
  __device__ bool add_new(unsigned c) {
    const unsigned mark = 1U << (c % 32);
    return (atomicOr(reinterpret_cast<unsigned*>(word) + c / 32, mark) & mark) == 0;
  }

  /// The sum over the block, to thread 0.
  __device__ unsigned sum_of_block(unsigned value) {
    const unsigned sum = __reduce_add_sync(full_warp, value);
    if (threadIdx.x % 32 == 0) warp_sum[threadIdx.x / 32] = sum;
    __syncthreads();
    unsigned total = 0;
    if (threadIdx.x == 0) {
      for (unsigned w = 0; w < warps; ++w) total += warp_sum[w];
    }
    return total;
  }

  /// Numbers the marks; returns how many there are. The block is in step before and after.
  __device__ unsigned sum_up(unsigned used_cells) {
    const auto* const pair = reinterpret_cast<const uint4*>(word);
    auto* const both = reinterpret_cast<unsigned*>(before);
    const unsigned warp = threadIdx.x / 32;
    const unsigned end = min((warp + 1) * share, used_cells);
    unsigned sum = 0;
    for (unsigned first = warp * share; first < end; first += 64) {  // the cells behind `end` are clear
      const unsigned p = first / 2 + threadIdx.x % 32;
      const uint4 w = pair[p];
      const unsigned of_first = __popc(w.x) + __popc(w.y);
      const unsigned here = of_first + __popc(w.z) + __popc(w.w);
      const unsigned in_warp = sum_before_in_warp(here);
      const unsigned at = sum + in_warp;
      both[p] = at | (at + of_first) << 16;
      sum += __shfl_sync(full_warp, in_warp + here, 31);
    }
    if (threadIdx.x % 32 == 0) warp_sum[warp] = sum;
    __syncthreads();
    unsigned before_mine = 0;
    unsigned total = 0;
#pragma unroll
    for (unsigned w = 0; w < warps; ++w) {
      before_mine += w < warp ? warp_sum[w] : 0;
      total += warp_sum[w];
    }
    if (threadIdx.x % 32 == 0) before_warp[warp] = before_mine;
    __syncthreads();
    return total;
  }

  /// The number of the tile at marked column c.
  [[nodiscard]] __device__ unsigned number_of(unsigned c) const {
    const std::uint64_t lower = (std::uint64_t{1} << (c % cell)) - 1;
    return before_warp[c / cell / share] + before[c / cell] + static_cast<unsigned>(__popcll(word[c / cell] & lower));
  }
};

/// The rows of a task, walked in step through windows of tile columns.
template <int K>
class TaskWindows {
 public:
  struct Shared {
    EdgeOffset next[K];  ///< of each row: its first entry that no window has held
    EdgeOffset stop[K];  ///< and where its entries in the strip end
    EdgeOffset here[K];  ///< its first entry in this window
    unsigned before[K];  ///< entries of the rows before it, in this window
    unsigned sum[2];     ///< entries of rows 0 to 31, and 32 to 63
    NodeId first_tile;   ///< the window's
    NodeId last_tile;
    unsigned long long longest;
  };

  /// The block is in step before.
  __device__ TaskWindows(const CsrPatternView& a, const PackTask& task, Shared& shared)
      : col_ind_(a.col_ind), shared_(shared) {
    const std::size_t first_row = std::size_t{task.tile_row} * K;
    const std::size_t row = first_row + threadIdx.x;
    EdgeOffset begin = 0;
    EdgeOffset end = 0;
    if (threadIdx.x < K && row < a.nrows) {
      begin = a.row_ptr[row];
      end = a.row_ptr[row + 1];
    }
    first_entry_ = a.row_ptr[first_row];
    const EdgeOffset strips = strips_of(a.row_ptr[min(first_row + K, std::size_t{a.nrows})] - first_entry_);
    whole_ = strips == 1 && (a.ncols - 1) / K < TileMarks<K>::width;
    if (whole_) {
      if (threadIdx.x == 0) {
        shared_.first_tile = 0;
        shared_.last_tile = (a.ncols - 1) / K;
      }
      if (threadIdx.x < row_threads) place(begin, end, end);
      return;
    }
    if (strips > 1) cut(strips, task.strip, begin, end);
    if (threadIdx.x < K) {
      shared_.next[threadIdx.x] = begin;
      shared_.stop[threadIdx.x] = end;
    }
  }

  /// Goes to the next window that has entries; false after the last. The block is in step when it returns true.
  __device__ bool next() {
    if (whole_ && done_) return false;
    done_ = true;
    __syncthreads();
    return whole_ || go_on();
  }

  /// The window's first tile column, and the cells of marks that it needs.
  [[nodiscard]] __device__ NodeId first_tile() const { return shared_.first_tile; }
  [[nodiscard]] __device__ unsigned used_cells() const {
    return (shared_.last_tile - shared_.first_tile) / TileMarks<K>::cell + 1;
  }

  /// fn(row, tile column, column within the tile, whether the entry before it may be of another tile) for the entries
  /// of the window, shared out evenly. The row is found only WithRows.
  template <bool WithRows, class Fn>
  __device__ void for_each(Fn&& fn) const {
    constexpr unsigned at_once = 4;  // loads that are under way together
    const unsigned half = shared_.sum[0];
    const unsigned entries = half + (K == 64 ? shared_.sum[1] : 0);
    const unsigned lane = threadIdx.x % 32;
    for (unsigned first = threadIdx.x - lane; first < entries; first += at_once * marks_threads<K>) {
      NodeId column[at_once];
      unsigned row[at_once];
#pragma unroll
      for (unsigned n = 0; n < at_once; ++n) {
        const unsigned e = min(first + n * marks_threads<K> + lane, entries - 1);
        row[n] = 0;
        column[n] = __ldg(col_ind_ + (WithRows || !whole_ ? position_of(e, half, row[n]) : first_entry_ + e));
      }
#pragma unroll
      for (unsigned n = 0; n < at_once; ++n) {
        const NodeId tile = column[n] / K;
        const NodeId tile_before = __shfl_up_sync(full_warp, tile, 1);
        if (first + n * marks_threads<K> + lane >= entries) continue;
        fn(row[n], tile, column[n] % K, lane == 0 || tile != tile_before);
      }
    }
  }

  /// Marks the tiles of the window's entries. The marks are clear, and the block is in step, before; after, it is not.
  __device__ void mark(TileMarks<K>& marks) const {
    const NodeId first = shared_.first_tile;
    for_each<false>([&](unsigned, NodeId tile, NodeId, bool other) {
      if (other) marks.add(tile - first);
    });
  }

 private:
  static constexpr unsigned row_threads = K < 32 ? 32 : K;  ///< whole warps that see to the rows

  /// Where entry e of the window is, and its row.
  __device__ EdgeOffset position_of(unsigned e, unsigned half, unsigned& row) const {
    const bool upper = K == 64 && e >= half;
    if (upper) e -= half;
    row = upper ? 32 : 0;
#pragma unroll
    for (unsigned step = (K < 32 ? K : 32) / 2; step != 0; step /= 2) {
      row += shared_.before[row + step] <= e ? step : 0;
    }
    return shared_.here[row] + (e - shared_.before[row]);
  }

  /// Notes what a row has in the window: [begin, stop) of its entries [begin, end).
  __device__ void place(EdgeOffset begin, EdgeOffset stop, EdgeOffset end) {
    const auto size = static_cast<unsigned>(stop - begin);
    const unsigned before = sum_before_in_warp(size);
    if (threadIdx.x % 32 == 31) shared_.sum[threadIdx.x / 32] = before + size;
    if (threadIdx.x >= K) return;
    shared_.here[threadIdx.x] = begin;
    shared_.before[threadIdx.x] = before;
    shared_.next[threadIdx.x] = stop;
    shared_.stop[threadIdx.x] = end;
  }

  /// The window that starts at the least tile column that is left. The block is in step before.
  __device__ bool go_on() {
    if (threadIdx.x == 0) {
      shared_.first_tile = ~NodeId{0};
      shared_.last_tile = 0;
    }
    __syncthreads();
    EdgeOffset begin = 0;
    EdgeOffset end = 0;
    if (threadIdx.x < K) {
      begin = shared_.next[threadIdx.x];
      end = shared_.stop[threadIdx.x];
      if (begin != end) atomicMin(&shared_.first_tile, col_ind_[begin] / K);
    }
    __syncthreads();
    if (shared_.first_tile == ~NodeId{0}) return false;
    if (threadIdx.x < row_threads) {
      const std::uint64_t end_column = (std::uint64_t{shared_.first_tile} + TileMarks<K>::width) * K;
      const bool all = begin == end || col_ind_[end - 1] < end_column;
      const EdgeOffset stop = all ? end : first_at_least(col_ind_, begin, end, end_column);
      if (begin != stop) atomicMax(&shared_.last_tile, col_ind_[stop - 1] / K);
      place(begin, stop, end);
    }
    __syncthreads();
    return true;
  }

  /// Cuts the rows to a strip. The strips' bounds are what divides the longest row evenly.
  __device__ void cut(EdgeOffset strips, NodeId strip, EdgeOffset& begin, EdgeOffset& end) {
    if (threadIdx.x == 0) shared_.longest = 0;
    if (threadIdx.x < K) shared_.here[threadIdx.x] = begin;
    __syncthreads();
    if (threadIdx.x < K) atomicMax(&shared_.longest, static_cast<unsigned long long>((end - begin) * 64 + threadIdx.x));
    __syncthreads();
    if (threadIdx.x >= K) return;
    const EdgeOffset longest = shared_.here[shared_.longest % 64];
    const EdgeOffset size = shared_.longest / 64;
    const auto bound = [&](EdgeOffset s) { return std::uint64_t{col_ind_[longest + size * s / strips] / K} * K; };
    if (strip + 1 < strips) end = first_at_least(col_ind_, begin, end, bound(EdgeOffset{strip} + 1));
    if (strip != 0) begin = first_at_least(col_ind_, begin, end, bound(strip));
  }

  const NodeId* col_ind_;
  Shared& shared_;
  EdgeOffset first_entry_ = 0;
  bool whole_ = false;  ///< all in one window that starts at column 0, entries one behind the other
  bool done_ = false;
};

}  // namespace bitgraph::cuda_formats
