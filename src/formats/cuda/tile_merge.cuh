// SPDX-License-Identifier: Apache-2.0
// Short tile rows of side 4 on a CUDA device: their four rows are sorted already, so a warp only merges them.
#pragma once

#include <bitgraph/formats/views.hpp>

#include "formats/cuda/tile_sort.cuh"

#include <type_traits>

namespace bitgraph::cuda_formats {

/// The four rows of a tile row: where they begin among its entries, and at last where they end.
struct RowBounds {
  unsigned at[5];

  [[nodiscard]] __device__ unsigned longest() const {
    return max(max(at[1] - at[0], at[2] - at[1]), max(at[3] - at[2], at[4] - at[3]));
  }
};

/// Whether short tile rows are merged: at side 4, where no row of the matrix is long. Elsewhere it gains nothing, and
/// the kernels take longer for having it.
inline constexpr unsigned longest_merged = 128;

/// The rows that a warp sees to, of side 4 where they are merged: a lane has the offset of each.
template <bool Merge>
struct WarpRows {
  __device__ WarpRows(const CsrPatternView&, std::size_t) {}
};

template <>
struct WarpRows<true> {
  static_assert(tile_rows_a_warp<4> == 8);
  unsigned offset;  ///< counted from the warp's first entry

  __device__ WarpRows(const CsrPatternView& a, std::size_t tile_row) {
    const EdgeOffset begin = a.row_ptr[min(tile_row * 4 + threadIdx.x % 32, std::size_t{a.nrows})];
    offset = static_cast<unsigned>(begin - __shfl_sync(full_warp, begin, 0));
  }

  /// Of the group's first tile row.
  [[nodiscard]] __device__ RowBounds bounds(const TileRowGroup& group) const {
    RowBounds rows{};
#pragma unroll
    for (unsigned r = 0; r < 4; ++r) rows.at[r] = __shfl_sync(full_warp, offset, group.begin * 4 + r);
#pragma unroll
    for (unsigned r = 1; r < 4; ++r) rows.at[r] -= rows.at[0];
    rows.at[0] = 0;
    rows.at[4] = group.size;
    return rows;
  }
};

/// Position j * 32 + lane has key[j]. Four rising runs of Run keys, of which the second and fourth lie backwards,
/// become one: the last two rounds of a bitonic sort (Batcher 1968).
template <unsigned Run, class Key, unsigned PerLane>
__device__ void merge_in_warp(Key (&key)[PerLane]) {
  static_assert(4 * Run == 32 * PerLane && Run >= 32);
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned size = 2 * Run; size <= 4 * Run; size *= 2) {
#pragma unroll
    for (unsigned stride = size / 64; stride != 0; stride /= 2) {
#pragma unroll
      for (unsigned j = 0; j < PerLane; ++j) {
        if ((j & stride) != 0) continue;
        const bool rising = (j * 32 & size) == 0;
        const Key low = min(key[j], key[j + stride]);
        const Key high = max(key[j], key[j + stride]);
        key[j] = rising ? low : high;
        key[j + stride] = rising ? high : low;
      }
    }
#pragma unroll 1
    for (unsigned lanes = 16; lanes != 0; lanes /= 2) {
      const bool lower = (lane & lanes) == 0;
#pragma unroll
      for (unsigned j = 0; j < PerLane; ++j) {
        const Key other = __shfl_xor_sync(full_warp, key[j], lanes);
        const bool rising = (j * 32 & size) == 0;
        key[j] = rising == lower ? min(key[j], other) : max(key[j], other);
      }
    }
  }
}

/// Loads a tile row and merges it; key_of(row, column) makes a key of an entry.
template <unsigned Run, class Key, unsigned PerLane, class KeyOf>
__device__ void merged_keys(Key (&key)[PerLane], const NodeId* columns, const RowBounds& rows, KeyOf&& key_of) {
#pragma unroll
  for (unsigned j = 0; j < PerLane; ++j) {
    constexpr unsigned of_run = Run / 32;
    const unsigned row = j / of_run;
    const unsigned place = j % of_run * 32 + threadIdx.x % 32;
    const unsigned e = rows.at[row] + (row % 2 == 0 ? place : Run - 1 - place);
    key[j] = e < rows.at[row + 1] ? key_of(row, columns[e]) : no_key<Key>;
  }
  merge_in_warp<Run>(key);
}

/// fn(j, the lanes whose key[j] is the first of its tile), from the least keys to the largest. key >> shift is the
/// tile.
template <class Key, unsigned PerLane, class Fn>
__device__ void for_each_first(const Key (&key)[PerLane], int shift, Fn&& fn) {
  const unsigned lane = threadIdx.x % 32;
  Key last = no_key<Key>;
#pragma unroll
  for (unsigned j = 0; j < PerLane; ++j) {
    const Key up = __shfl_up_sync(full_warp, key[j], 1);
    const Key before = lane == 0 ? last : up;
    const bool other = (j == 0 && lane == 0) || before >> shift != key[j] >> shift;
    fn(j, __ballot_sync(full_warp, key[j] != no_key<Key> && other));
    last = __shfl_sync(full_warp, key[j], 31);
  }
}

/// The number of non-empty tiles of a tile row whose rows have at most Run entries.
template <int K, unsigned Run>
__device__ unsigned count_merged(const NodeId* columns, const RowBounds& rows) {
  NodeId key[Run / 8];
  merged_keys<Run>(key, columns, rows, [](unsigned, NodeId column) { return column / K; });
  unsigned tiles = 0;
  for_each_first(key, 0, [&](unsigned, unsigned first) { tiles += __popc(first); });
  return tiles;
}

/// sort_tile_row of such a tile row.
template <int K, unsigned Run>
__device__ unsigned merge_tile_row(const NodeId* columns, const RowBounds& rows, SortedTileRow& notes) {
  constexpr int side_bits = std::countr_zero(static_cast<unsigned>(K));
  const unsigned lane = threadIdx.x % 32;
  std::uint32_t key[Run / 8];
  merged_keys<Run>(key, columns, rows, [](unsigned row, NodeId column) {
    return (column / K) << 2 * side_bits | row << side_bits | column % K;
  });
  unsigned tiles = 0;
  for_each_first(key, 2 * side_bits, [&](unsigned j, unsigned first) {
    const unsigned e = j * 32 + lane;
    if (e < rows.at[4]) notes.bit[e] = static_cast<std::uint16_t>(key[j] & (K * K - 1));
    if ((first >> lane & 1U) != 0) {
      const unsigned tile = tiles + __popc(first & ((1U << lane) - 1));
      notes.start[tile] = static_cast<std::uint16_t>(e);
      notes.column[tile] = key[j] >> 2 * side_bits;
    }
    tiles += __popc(first);
  });
  if (lane == 0) notes.start[tiles] = static_cast<std::uint16_t>(rows.at[4]);
  __syncwarp();
  return tiles;
}

/// Calls fn(std::integral_constant<unsigned, Run>, rows) where the group is a tile row that is sooner merged than
/// sorted; else returns false.
template <bool Merge, class Fn>
__device__ bool merge_where_it_pays(const WarpRows<Merge>& warp_rows, const TileRowGroup& group, Fn&& fn) {
  if constexpr (!Merge) {
    return false;
  } else {
    if (group.size <= 64 || group.end - group.begin != 1) return false;
    const RowBounds rows = warp_rows.bounds(group);
    const unsigned longest = rows.longest();
    if (longest > 64) return false;
    if (longest <= 32) {
      fn(std::integral_constant<unsigned, 32>{}, rows);
    } else {
      fn(std::integral_constant<unsigned, 64>{}, rows);
    }
    return true;
  }
}

}  // namespace bitgraph::cuda_formats
