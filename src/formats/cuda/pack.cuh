// SPDX-License-Identifier: Apache-2.0
// Pattern CSR to tiles on a CUDA device. Two passes over the entries, one that counts each tile row's tiles and one
// that writes them; a warp sorts the entries of a short tile row, a block marks those of a strip of a long one.
#pragma once

#include "core/cuda/launch.cuh"
#include "formats/cuda/tile_marks.cuh"
#include "formats/cuda/tile_merge.cuh"
#include "formats/cuda/tile_sort.cuh"

#include <type_traits>

namespace bitgraph::cuda_formats {

inline constexpr unsigned sort_warps = 4;  ///< warps a block of the kernels for short tile rows

/// What both passes know of the long tile rows. All on the device.
struct PackTasks {
  PackTask* task = nullptr;
  NodeId* tiles = nullptr;      ///< of each task, once counted
  unsigned* count = nullptr;    ///< how many tasks there are
  unsigned* counted = nullptr;  ///< how many have been taken up by each pass
  unsigned* filled = nullptr;
};

/// What packing gives.
template <int K>
struct PackedTiles {
  const EdgeOffset* tile_row_ptr = nullptr;
  NodeId* tile_col_ind = nullptr;
  std::byte* bit_tiles = nullptr;
};

/// The warp's first tile row.
template <int K>
__device__ std::size_t first_tile_row_of_warp() {
  return (std::size_t{blockIdx.x} * sort_warps + threadIdx.x / 32) * tile_rows_a_warp<K>;
}

/// fn(group, its first entry) for the groups that the warp's `count` tile rows from `tile_row` on make. Every tile row
/// is in one; those that are too long to be sorted, or for company, alone.
template <int K, class Fn>
__device__ void for_each_group(const CsrPatternView& a, std::size_t tile_row, unsigned count, unsigned together,
                               Fn&& fn) {
  const unsigned lane = threadIdx.x % 32;
  const EdgeOffset start = a.row_ptr[min((tile_row + min(lane, count)) * K, std::size_t{a.nrows})];
  for (unsigned begin = 0; begin < count;) {
    const EdgeOffset first = __shfl_sync(full_warp, start, begin);
    const unsigned fitting = __ballot_sync(full_warp, lane > begin && lane <= count && start - first <= together);
    const unsigned end = fitting == 0 ? begin + 1 : 31 - __clz(fitting);
    const EdgeOffset size = __shfl_sync(full_warp, start, end) - first;
    fn(TileRowGroup{begin, end, static_cast<unsigned>(start - first), static_cast<unsigned>(size)}, first, size);
    begin = end;
  }
}

/// Calls fn(std::integral_constant<unsigned, keys a lane>) for so many entries: 1 to longest_short<K> of them, or to
/// longest_short_wide.
template <int K, class Key, class Fn>
__device__ auto with_keys_a_lane(unsigned size, Fn&& fn) {
  constexpr unsigned most = sizeof(Key) > 4 ? longest_short_wide : longest_short<K>;
  if (size <= 32) return fn(std::integral_constant<unsigned, 1>{});
  if (size <= 64) return fn(std::integral_constant<unsigned, 2>{});
  if constexpr (most > 256) {
    if (size > 256) return fn(std::integral_constant<unsigned, 16>{});
  }
  if constexpr (most > 128) {
    if (size > 128) return fn(std::integral_constant<unsigned, 8>{});
  }
  return fn(std::integral_constant<unsigned, 4>{});
}

/// Lists the strips of the long tile rows, whose counts begin at 0, as does what is behind the last one. A thread a
/// tile row.
template <int K>
__global__ void list_long(CsrPatternView a, NodeId num_tile_rows, ShortRule rule, EdgeOffset* tile_count,
                          PackTasks tasks) {
  const std::size_t tile_row = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  EdgeOffset size = 0;
  if (tile_row < num_tile_rows) {
    size = a.row_ptr[min((tile_row + 1) * K, std::size_t{a.nrows})] - a.row_ptr[tile_row * K];
  }
  const unsigned strips = size > rule.longest ? static_cast<unsigned>(strips_of(size)) : 0;
  if (strips != 0 || tile_row == num_tile_rows) tile_count[tile_row] = 0;
  const unsigned before = sum_before_in_warp(strips);
  unsigned at = threadIdx.x % 32 == 31 && before + strips != 0 ? atomicAdd(tasks.count, before + strips) : 0;
  at = __shfl_sync(full_warp, at, 31) + before;
  for (unsigned s = 0; s < strips; ++s) tasks.task[at + s] = {static_cast<NodeId>(tile_row), s};
}

/// tile_count[i]: the tiles of tile row i where it is short. Runs beside count_long.
template <int K, bool Merge>
__global__ void __launch_bounds__(32 * sort_warps)
    count_short(CsrPatternView a, NodeId num_tile_rows, ShortRule rule, EdgeOffset* tile_count) {
  outlast_previous_kernel();
  const std::size_t tile_row = first_tile_row_of_warp<K>();
  const unsigned lane = threadIdx.x % 32;
  if (tile_row >= num_tile_rows) return;
  const auto count = static_cast<unsigned>(min(std::size_t{tile_rows_a_warp<K>}, num_tile_rows - tile_row));
  const WarpRows<Merge> rows(a, tile_row);
  unsigned mine = 0;
  bool is_short = lane < count;
  for_each_group<K>(a, tile_row, count, rule.together,
                    [&](const TileRowGroup& group, EdgeOffset first, EdgeOffset size) {
                      const bool own = lane >= group.begin && lane < group.end;
                      if (size > rule.longest) {
                        is_short = is_short && !own;
                        return;
                      }
                      if (size == 0) return;
                      const NodeId* const columns = a.col_ind + first;
                      const bool merged = merge_where_it_pays(rows, group, [&](auto run, const RowBounds& bounds) {
                        const unsigned tiles = count_merged<K, decltype(run)::value>(columns, bounds);
                        if (own) mine = tiles;
                      });
                      if (merged) return;
                      const unsigned tiles = with_keys_a_lane<K, NodeId>(group.size, [&](auto per_lane) {
                        return count_sorted<K, decltype(per_lane)::value>(columns, group, rule.tile_bits);
                      });
                      if (own) mine = tiles;
                    });
  if (is_short) tile_count[tile_row + lane] = mine;
}

/// Deals the tasks of a pass out to blocks. The next one is asked for while one is being done.
class TaskQueue {
 public:
  __device__ TaskQueue(unsigned* taken, const unsigned* count, unsigned& shared)
      : taken_(taken), count_(*count), shared_(shared) {
    if (threadIdx.x == 0) next_ = atomicAdd(taken_, 1);
  }

  /// False where there is none. The block is in step when it returns, and must be so again before the next call.
  __device__ bool take(unsigned& number) {
    if (threadIdx.x == 0) shared_ = next_;
    __syncthreads();
    number = shared_;
    if (number >= count_) return false;
    if (threadIdx.x == 0) next_ = atomicAdd(taken_, 1);
    return true;
  }

 private:
  unsigned* taken_;
  unsigned count_;
  unsigned& shared_;
  unsigned next_ = 0;
};

template <int K>
__global__ void __launch_bounds__(marks_threads<K>)
    count_long(CsrPatternView a, EdgeOffset* tile_count, PackTasks tasks) {
  __shared__ TileMarks<K> marks;
  __shared__ typename TaskWindows<K>::Shared rows;
  __shared__ unsigned shared_number;
  trigger_dependent_launch();
  TaskQueue queue(tasks.counted, tasks.count, shared_number);
  marks.clear(TileMarks<K>::cells);
  unsigned number = 0;
  while (queue.take(number)) {
    const PackTask task = tasks.task[number];
    TaskWindows<K> windows(a, task, rows);
    unsigned tiles = 0;
    while (windows.next()) {
      const NodeId first_tile = windows.first_tile();
      windows.template for_each<false>([&](unsigned, NodeId tile, NodeId, bool other) {
        if (other && marks.add_new(tile - first_tile)) ++tiles;
      });
      __syncthreads();
      marks.clear(windows.used_cells());
    }
    tiles = marks.sum_of_block(tiles);
    if (threadIdx.x != 0) continue;
    tasks.tiles[number] = tiles;
    atomicAdd(reinterpret_cast<unsigned long long*>(tile_count + task.tile_row),
              static_cast<unsigned long long>(tiles));
  }
}

/// Runs beside fill_long.
template <int K, class Key, bool Merge>
__global__ void __launch_bounds__(32 * sort_warps)
    fill_short(CsrPatternView a, NodeId num_tile_rows, ShortRule rule, PackedTiles<K> out) {
  __shared__ SortedTileRow all_notes[sort_warps];
  outlast_previous_kernel();
  const std::size_t tile_row = first_tile_row_of_warp<K>();
  if (tile_row >= num_tile_rows) return;
  SortedTileRow& notes = all_notes[threadIdx.x / 32];
  const auto count = static_cast<unsigned>(min(std::size_t{tile_rows_a_warp<K>}, num_tile_rows - tile_row));
  const WarpRows<Merge> rows(a, tile_row);
  for_each_group<K>(
      a, tile_row, count, rule.together, [&](const TileRowGroup& group, EdgeOffset first, EdgeOffset size) {
        if (size == 0 || size > rule.longest) return;
        const NodeId* const columns = a.col_ind + first;
        unsigned tiles = 0;
        __syncwarp();  // the notes on the group before have been read
        const auto merge = [&](auto run, const RowBounds& bounds) {
          tiles = merge_tile_row<K, decltype(run)::value>(columns, bounds, notes);
        };
        if (!merge_where_it_pays(rows, group, merge)) {
          const std::size_t first_row = (tile_row + group.begin) * K;
          const std::size_t end_row = min((tile_row + group.end) * K, std::size_t{a.nrows});
          for (unsigned r = threadIdx.x % 32; r < tile_rows_a_warp<K> * K; r += 32) {
            notes.row_end[r] = static_cast<std::uint16_t>(a.row_ptr[min(first_row + r + 1, end_row)] - first);
          }
          __syncwarp();
          tiles = with_keys_a_lane<K, Key>(group.size, [&](auto per_lane) {
            return sort_tile_row<K, Key, decltype(per_lane)::value>(columns, group.size, rule.tile_bits, notes);
          });
        }
        const EdgeOffset at = out.tile_row_ptr[tile_row + group.begin];
        store_tiles<K>(notes, tiles, out.tile_col_ind + at, out.bit_tiles + at * tile_bytes(K));
      });
}

/// Where the tiles of a task begin: behind those of the strips before it. The block is in step before.
template <int K>
__device__ EdgeOffset first_tile_of(const PackTasks& tasks, unsigned number, unsigned strip, EdgeOffset row_begin,
                                    unsigned long long& shared_sum) {
  if (strip == 0) return row_begin;
  if (threadIdx.x == 0) shared_sum = row_begin;
  __syncthreads();
  unsigned long long sum = 0;
  for (unsigned s = threadIdx.x; s < strip; s += marks_threads<K>) sum += tasks.tiles[number - strip + s];
  if (sum != 0) atomicAdd(&shared_sum, sum);
  __syncthreads();
  return shared_sum;
}

/// Zeroes tiles.
template <int K>
__device__ void clear_tiles(std::byte* tiles, std::size_t count) {
  using Piece = std::conditional_t<K == 4, std::uint16_t, std::conditional_t<K == 8, std::uint64_t, ulonglong2>>;
  auto* piece = reinterpret_cast<Piece*>(tiles);
  const std::size_t pieces = count * tile_bytes(K) / sizeof(Piece);
  for (std::size_t p = threadIdx.x; p < pieces; p += marks_threads<K>) piece[p] = Piece{};
}

template <int K>
__global__ void __launch_bounds__(marks_threads<K>) fill_long(CsrPatternView a, PackTasks tasks, PackedTiles<K> out) {
  __shared__ TileMarks<K> marks;
  __shared__ typename TaskWindows<K>::Shared rows;
  __shared__ unsigned shared_number;
  __shared__ unsigned long long sum;
  trigger_dependent_launch();
  TaskQueue queue(tasks.filled, tasks.count, shared_number);
  marks.clear(TileMarks<K>::cells);
  unsigned number = 0;
  while (queue.take(number)) {
    const PackTask task = tasks.task[number];
    EdgeOffset at = first_tile_of<K>(tasks, number, task.strip, out.tile_row_ptr[task.tile_row], sum);
    TaskWindows<K> windows(a, task, rows);
    while (windows.next()) {
      windows.mark(marks);
      __syncthreads();
      const unsigned tiles = marks.sum_up(windows.used_cells());
      clear_tiles<K>(out.bit_tiles + at * tile_bytes(K), tiles);
      __syncthreads();
      const NodeId first_tile = windows.first_tile();
      NodeId* columns = out.tile_col_ind + at;
      auto* words = reinterpret_cast<unsigned*>(out.bit_tiles) + at * (K * K) / 32;
      const unsigned first_bit = at * (K * K) % 32;  // at side 4, two tiles share a word
      windows.template for_each<true>([&](unsigned row, NodeId tile, NodeId column, bool other) {
        const unsigned number = marks.number_of(tile - first_tile);
        if (other) columns[number] = tile;  // several entries may say so
        const unsigned bit = number * (K * K) + first_bit + row * K + column;
        atomicOr(words + bit / 32, 1U << (bit % 32));
      });
      __syncthreads();
      marks.clear(windows.used_cells());
      at += tiles;
    }
  }
}

}  // namespace bitgraph::cuda_formats
