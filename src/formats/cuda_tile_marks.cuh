// SPDX-License-Identifier: Apache-2.0
// Long tile rows on a CUDA device: a block marks the tile columns that the entries touch in a bitmap in shared memory,
// a window of the matrix at a time; sums over the marks number the tiles. Very long tile rows are cut into strips of
// columns, each a task of its own.
#pragma once

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include "formats/cuda_tile_sort.cuh"

#include <cstdint>

namespace bitgraph::cuda_formats {

inline constexpr unsigned marks_threads = 256;
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

/// A block's bitmap: cells of 128 tile columns, and how many marks are before each.
struct TileMarks {
  static constexpr unsigned cell = 128;
  static constexpr unsigned cells = 2048;
  static constexpr unsigned width = cell * cells;

  uint4 word[cells];
  unsigned before[cells];
  unsigned warp_sum[marks_threads / 32];

  __device__ void clear(unsigned used_cells) {
    for (unsigned c = threadIdx.x; c < used_cells; c += marks_threads) word[c] = make_uint4(0, 0, 0, 0);
  }

  __device__ void add(unsigned c) { atomicOr(reinterpret_cast<unsigned*>(word) + c / 32, 1U << (c % 32)); }

  [[nodiscard]] __device__ static unsigned count(const uint4& w) {
    return __popc(w.x) + __popc(w.y) + __popc(w.z) + __popc(w.w);
  }

  /// Marks before each cell; returns all. Each warp sees to a contiguous part. The block is in step before and after.
  __device__ unsigned sum_up(unsigned used_cells) {
    constexpr unsigned warps = marks_threads / 32;
    const unsigned warp = threadIdx.x / 32;
    const unsigned lane = threadIdx.x % 32;
    const unsigned part = (used_cells + 32 * warps - 1) / (32 * warps) * 32;
    const unsigned begin = warp * part;
    unsigned sum = 0;
    for (unsigned first = begin; first < begin + part && first < used_cells; first += 32) {
      const unsigned c = first + lane;
      const unsigned mine = c < used_cells ? count(word[c]) : 0;
      const unsigned prior = sum_before_in_warp(mine);
      if (c < used_cells) before[c] = sum + prior;
      sum += __shfl_sync(full_warp, prior + mine, 31);
    }
    if (lane == 0) warp_sum[warp] = sum;
    __syncthreads();
    unsigned of_warps_before = 0;
    unsigned total = 0;
    for (unsigned w = 0; w < warps; ++w) {
      of_warps_before += w < warp ? warp_sum[w] : 0;
      total += warp_sum[w];
    }
    for (unsigned c = begin + lane; c < begin + part && c < used_cells; c += 32) before[c] += of_warps_before;
    __syncthreads();
    return total;
  }

  /// The number of the tile at marked column c.
  [[nodiscard]] __device__ unsigned number_of(unsigned c) const {
    const uint4 w = word[c / cell];
    const unsigned lower = (1U << (c % 32)) - 1;
    const unsigned at = c % cell / 32;
    return before[c / cell] + __popc(w.x & (at == 0 ? lower : ~0U)) +
           (at < 1 ? 0 : __popc(w.y & (at == 1 ? lower : ~0U))) + (at < 2 ? 0 : __popc(w.z & (at == 2 ? lower : ~0U))) +
           (at < 3 ? 0 : __popc(w.w & lower));
  }

  /// fn(number, c) for the marks in cells that are this thread's.
  template <class Fn>
  __device__ void for_each(unsigned used_cells, Fn&& fn) const {
    for (unsigned c = threadIdx.x; c < used_cells; c += marks_threads) {
      const uint4 w = word[c];
      unsigned number = before[c];
      const unsigned parts[4]{w.x, w.y, w.z, w.w};
#pragma unroll
      for (unsigned p = 0; p < 4; ++p) {
        for (unsigned left = parts[p]; left != 0; left &= left - 1) fn(number++, c * cell + p * 32 + __ffs(left) - 1);
      }
    }
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

  __device__ TaskWindows(const CsrPatternView& a, const PackTask& task, Shared& shared) : a_(a), shared_(shared) {
    const std::size_t first_row = std::size_t{task.tile_row} * K;
    const std::size_t row = first_row + threadIdx.x;
    EdgeOffset begin = 0;
    EdgeOffset end = 0;
    if (threadIdx.x < K && row < a.nrows) {
      begin = a.row_ptr[row];
      end = a.row_ptr[row + 1];
    }
    const std::size_t end_row = min(first_row + K, std::size_t{a.nrows});
    const EdgeOffset strips = strips_of(a.row_ptr[end_row] - a.row_ptr[first_row]);
    if (strips > 1) cut(strips, task.strip, begin, end);
    if (threadIdx.x < K) {
      shared_.next[threadIdx.x] = begin;
      shared_.stop[threadIdx.x] = end;
    }
  }

  /// Goes to the next window that has entries; false after the last. The block is in step when it returns.
  __device__ bool next() {
    __syncthreads();
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
      if (begin != end) atomicMin(&shared_.first_tile, a_.col_ind[begin] / K);
    }
    __syncthreads();
    if (shared_.first_tile == ~NodeId{0}) return false;
    if (threadIdx.x < (K + 31) / 32 * 32) place(begin, end);
    __syncthreads();
    return true;
  }

  /// The window's first tile column, and the cells of marks that it needs.
  [[nodiscard]] __device__ NodeId first_tile() const { return shared_.first_tile; }
  [[nodiscard]] __device__ unsigned used_cells() const {
    return (shared_.last_tile - shared_.first_tile) / TileMarks::cell + 1;
  }

  /// fn(row, position) for the entries of the window, shared out evenly.
  template <class Fn>
  __device__ void for_each(Fn&& fn) const {
    const unsigned half = shared_.sum[0];
    const unsigned entries = half + (K == 64 ? shared_.sum[1] : 0);
    for (unsigned e = threadIdx.x; e < entries; e += marks_threads) {
      const bool upper = K == 64 && e >= half;
      const unsigned rest = upper ? e - half : e;
      unsigned row = upper ? 32 : 0;
#pragma unroll
      for (unsigned step = (K < 32 ? K : 32) / 2; step != 0; step /= 2) {
        row += shared_.before[row + step] <= rest ? step : 0;
      }
      fn(row, shared_.here[row] + (rest - shared_.before[row]));
    }
  }

  /// Marks the tiles of the window's entries. The block is in step before and after.
  __device__ void mark(TileMarks& marks) const {
    marks.clear(used_cells());
    __syncthreads();
    for_each([&](unsigned row, EdgeOffset e) {
      const NodeId tile = a_.col_ind[e] / K;
      if (e == shared_.here[row] || a_.col_ind[e - 1] / K != tile) marks.add(tile - shared_.first_tile);
    });
    __syncthreads();
  }

 private:
  /// Whole warps: where the rows' entries of the window that starts at first_tile are.
  __device__ void place(EdgeOffset begin, EdgeOffset end) {
    const std::uint64_t end_column = (std::uint64_t{shared_.first_tile} + TileMarks::width) * K;
    const bool all = begin == end || a_.col_ind[end - 1] < end_column;
    const EdgeOffset stop = all ? end : first_at_least(a_.col_ind, begin, end, end_column);
    const auto size = static_cast<unsigned>(stop - begin);
    const unsigned before = sum_before_in_warp(size);
    if (threadIdx.x % 32 == 31) shared_.sum[threadIdx.x / 32] = before + size;
    if (threadIdx.x >= K) return;
    if (size != 0) atomicMax(&shared_.last_tile, a_.col_ind[stop - 1] / K);
    shared_.here[threadIdx.x] = begin;
    shared_.next[threadIdx.x] = stop;
    shared_.before[threadIdx.x] = before;
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
    const auto bound = [&](EdgeOffset s) { return std::uint64_t{a_.col_ind[longest + size * s / strips] / K} * K; };
    if (strip + 1 < strips) end = first_at_least(a_.col_ind, begin, end, bound(EdgeOffset{strip} + 1));
    if (strip != 0) begin = first_at_least(a_.col_ind, begin, end, bound(strip));
  }

  const CsrPatternView& a_;
  Shared& shared_;
};

}  // namespace bitgraph::cuda_formats
