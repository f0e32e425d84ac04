// SPDX-License-Identifier: Apache-2.0
// Pattern CSR to tiles on a CUDA device. Two passes over the entries, one that counts each tile row's tiles and one
// that writes them; a warp sorts the entries of a short tile row, a block marks those of a strip of a long one.
#pragma once

#include "formats/cuda_tile_marks.cuh"
#include "formats/cuda_tile_sort.cuh"

#include <type_traits>

namespace bitgraph::cuda_formats {

inline constexpr unsigned sort_warps = 8;  ///< tile rows a block of the kernels for short ones

/// What both passes know of the long tile rows. All on the device.
struct PackTasks {
  PackTask* task = nullptr;
  NodeId* tiles = nullptr;      ///< of each task, once counted
  unsigned* count = nullptr;    ///< how many tasks there are
  unsigned* counted = nullptr;  ///< how many have been taken up by each pass
  unsigned* filled = nullptr;
  unsigned longest_short = 0;  ///< tile rows with more entries are long
};

/// What packing gives.
template <int K>
struct PackedTiles {
  const EdgeOffset* tile_row_ptr = nullptr;
  NodeId* tile_col_ind = nullptr;
  std::byte* bit_tiles = nullptr;
};

/// Entries of a tile row, from `first`.
template <int K>
__device__ EdgeOffset tile_row_entries(const CsrPatternView& a, NodeId tile_row, EdgeOffset& first) {
  const std::size_t first_row = std::size_t{tile_row} * K;
  first = a.row_ptr[first_row];
  return a.row_ptr[min(first_row + K, std::size_t{a.nrows})] - first;
}

/// Calls fn(std::integral_constant<unsigned, keys a lane>) for so many entries: 1 to longest_short of them, or to
/// longest_short_wide.
template <class Key, class Fn>
__device__ auto with_keys_a_lane(unsigned size, Fn&& fn) {
  if (size <= 32) return fn(std::integral_constant<unsigned, 1>{});
  if (size <= 64) return fn(std::integral_constant<unsigned, 2>{});
  if constexpr (sizeof(Key) <= 4) {
    if (size > 256) return fn(std::integral_constant<unsigned, 16>{});
    if (size > 128) return fn(std::integral_constant<unsigned, 8>{});
  }
  return fn(std::integral_constant<unsigned, 4>{});
}

/// tile_count[i]: the tiles of tile row i where it is short; else 0, and its strips are put on the list.
template <int K>
__global__ void __launch_bounds__(32 * sort_warps)
    count_short(CsrPatternView a, NodeId num_tile_rows, EdgeOffset* tile_count, PackTasks tasks) {
  const std::size_t tile_row = std::size_t{blockIdx.x} * sort_warps + threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  if (tile_row == 0 && lane == 0) tile_count[num_tile_rows] = 0;
  if (tile_row >= num_tile_rows) return;
  EdgeOffset first = 0;
  const EdgeOffset size = tile_row_entries<K>(a, static_cast<NodeId>(tile_row), first);
  unsigned tiles = 0;
  if (size > tasks.longest_short) {
    const auto strips = static_cast<unsigned>(strips_of(size));
    unsigned at = 0;
    if (lane == 0) at = atomicAdd(tasks.count, strips);
    at = __shfl_sync(full_warp, at, 0);
    for (unsigned s = lane; s < strips; s += 32) tasks.task[at + s] = {static_cast<NodeId>(tile_row), s};
  } else if (size != 0) {
    tiles = with_keys_a_lane<NodeId>(static_cast<unsigned>(size), [&](auto per_lane) {
      return count_sorted<K, decltype(per_lane)::value>(a.col_ind + first, static_cast<unsigned>(size));
    });
  }
  if (lane == 0) tile_count[tile_row] = tiles;
}

/// The next task of a pass; false where there is none. The block is in step when it returns.
__device__ inline bool take_task(unsigned* taken, unsigned count, unsigned& shared_task) {
  __syncthreads();
  if (threadIdx.x == 0) shared_task = atomicAdd(taken, 1);
  __syncthreads();
  return shared_task < count;
}

template <int K>
__global__ void __launch_bounds__(marks_threads) count_long(CsrPatternView a, EdgeOffset* tile_count, PackTasks tasks) {
  __shared__ TileMarks marks;
  __shared__ typename TaskWindows<K>::Shared rows;
  __shared__ unsigned number;
  const unsigned count = *tasks.count;
  while (take_task(tasks.counted, count, number)) {
    const PackTask task = tasks.task[number];
    TaskWindows<K> windows(a, task, rows);
    unsigned tiles = 0;
    while (windows.next()) {
      windows.mark(marks);
      tiles += marks.sum_up(windows.used_cells());
    }
    if (threadIdx.x != 0) continue;
    tasks.tiles[number] = tiles;
    atomicAdd(reinterpret_cast<unsigned long long*>(tile_count + task.tile_row),
              static_cast<unsigned long long>(tiles));
  }
}

template <int K, class Key>
__global__ void __launch_bounds__(32 * sort_warps)
    fill_short(CsrPatternView a, NodeId num_tile_rows, unsigned longest, PackedTiles<K> out) {
  __shared__ SortedTileRow all_notes[sort_warps];
  const std::size_t tile_row = std::size_t{blockIdx.x} * sort_warps + threadIdx.x / 32;
  if (tile_row >= num_tile_rows) return;
  EdgeOffset first = 0;
  const EdgeOffset entries = tile_row_entries<K>(a, static_cast<NodeId>(tile_row), first);
  if (entries == 0 || entries > longest) return;
  SortedTileRow& notes = all_notes[threadIdx.x / 32];
  for (unsigned r = threadIdx.x % 32; r < K; r += 32) {
    const std::size_t row = min(tile_row * K + r, std::size_t{a.nrows} - 1);
    notes.row_end[r] = static_cast<std::uint16_t>(a.row_ptr[row + 1] - first);
  }
  __syncwarp();
  const auto size = static_cast<unsigned>(entries);
  const unsigned tiles = with_keys_a_lane<Key>(size, [&](auto per_lane) {
    return sort_tile_row<K, Key, decltype(per_lane)::value>(a.col_ind + first, size, notes);
  });
  const EdgeOffset at = out.tile_row_ptr[tile_row];
  store_tiles<K>(notes, tiles, out.tile_col_ind + at, out.bit_tiles + at * tile_bytes(K));
}

/// Where the tiles of a task begin: behind those of the strips before it. The block is in step when it returns.
__device__ inline EdgeOffset first_tile_of(const PackTasks& tasks, unsigned number, EdgeOffset first_of_row,
                                           unsigned long long& shared_sum) {
  if (threadIdx.x == 0) shared_sum = first_of_row;
  __syncthreads();
  const unsigned strip = tasks.task[number].strip;
  unsigned long long sum = 0;
  for (unsigned s = threadIdx.x; s < strip; s += marks_threads) sum += tasks.tiles[number - strip + s];
  if (sum != 0) atomicAdd(&shared_sum, sum);
  __syncthreads();
  return shared_sum;
}

/// Zeroes `bytes` bytes, a multiple of 2, at an address that is one too.
template <int K>
__device__ void clear_tiles(std::byte* tiles, std::size_t count) {
  using Piece = std::conditional_t<K == 4, std::uint16_t, std::conditional_t<K == 8, std::uint64_t, ulonglong2>>;
  auto* piece = reinterpret_cast<Piece*>(tiles);
  const std::size_t pieces = count * tile_bytes(K) / sizeof(Piece);
  for (std::size_t p = threadIdx.x; p < pieces; p += marks_threads) piece[p] = Piece{};
}

template <int K>
__global__ void __launch_bounds__(marks_threads) fill_long(CsrPatternView a, PackTasks tasks, PackedTiles<K> out) {
  __shared__ TileMarks marks;
  __shared__ typename TaskWindows<K>::Shared rows;
  __shared__ unsigned number;
  __shared__ unsigned long long sum;
  const unsigned count = *tasks.count;
  while (take_task(tasks.filled, count, number)) {
    const PackTask task = tasks.task[number];
    EdgeOffset at = first_tile_of(tasks, number, out.tile_row_ptr[task.tile_row], sum);
    TaskWindows<K> windows(a, task, rows);
    while (windows.next()) {
      windows.mark(marks);
      const unsigned tiles = marks.sum_up(windows.used_cells());
      const NodeId first_tile = windows.first_tile();
      clear_tiles<K>(out.bit_tiles + at * tile_bytes(K), tiles);
      marks.for_each(windows.used_cells(), [&](unsigned n, unsigned c) { out.tile_col_ind[at + n] = first_tile + c; });
      __syncthreads();
      auto* words = reinterpret_cast<unsigned*>(out.bit_tiles);
      windows.for_each([&](unsigned row, EdgeOffset e) {
        const NodeId column = a.col_ind[e];
        const EdgeOffset tile = at + marks.number_of(column / K - first_tile);
        const std::uint64_t bit = tile * (K * K) + row * K + column % K;
        atomicOr(words + bit / 32, 1U << (bit % 32));
      });
      at += tiles;
    }
  }
}

}  // namespace bitgraph::cuda_formats
