// SPDX-License-Identifier: Apache-2.0
// Short tile rows on a CUDA device: a warp sorts the entries in its registers.
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/views.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace bitgraph::cuda_formats {

/// Entries of a tile row that one warp sorts: 16 a lane; at side 4, where a few more long tile rows cost less than
/// registers do, 8; and 4 where keys take 64 bits.
inline constexpr unsigned longest_sorted = 512;
template <int K>
inline constexpr unsigned longest_short = K == 4 ? 256 : longest_sorted;
inline constexpr unsigned longest_short_wide = 128;

/// Neighbouring tile rows of up to so many entries together are sorted as one.
inline constexpr unsigned most_together = 128;

/// Neighbouring tile rows that a warp sees to, at most 64 rows of the matrix.
template <int K>
inline constexpr unsigned tile_rows_a_warp = K < 8 ? 8 : 64 / K;

/// What decides how short tile rows are sorted.
struct ShortRule {
  unsigned longest = longest_sorted;  ///< tile rows with more entries are long
  unsigned together = most_together;
  int tile_bits = 0;  ///< that hold a tile column
};

/// Neighbouring tile rows that are sorted together: a warp's tile rows [begin, end). Lane n has the offset of the
/// warp's tile row n, its first entry counted from theirs.
struct TileRowGroup {
  unsigned begin;
  unsigned end;
  unsigned offset;
  unsigned size;  ///< entries
};

template <class Key>
inline constexpr Key no_key = std::numeric_limits<Key>::max();

/// Sorts PerLane keys a lane, in the order of lanes: bitonic, strides below PerLane within a lane (Batcher 1968). The
/// outer loops stay loops: all sizes unrolled do not fit into the instruction cache.
template <class Key, unsigned PerLane>
__device__ void sort_in_warp(Key (&key)[PerLane]) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll 1
  for (unsigned size = 2; size <= 32 * PerLane; size *= 2) {
    const bool rising_lane = (lane * PerLane & size) == 0;
#pragma unroll 1
    for (unsigned lanes = size / 2 / PerLane; lanes != 0; lanes /= 2) {
      const bool keep_low = rising_lane == ((lane & lanes) == 0);
#pragma unroll
      for (unsigned j = 0; j < PerLane; ++j) {
        const Key other = __shfl_xor_sync(full_warp, key[j], lanes);
        key[j] = keep_low ? min(key[j], other) : max(key[j], other);
      }
    }
#pragma unroll
    for (unsigned stride = PerLane / 2; stride != 0; stride /= 2) {
      if (stride >= size) continue;
#pragma unroll
      for (unsigned j = 0; j < PerLane; ++j) {
        if ((j & stride) != 0) continue;
        const bool rising = rising_lane && (j & size) == 0;
        const Key low = min(key[j], key[j + stride]);
        const Key high = max(key[j], key[j + stride]);
        key[j] = rising ? low : high;
        key[j + stride] = rising ? high : low;
      }
    }
  }
}

/// Of sorted keys: bit j of the result is set where key j is the first of its tile, key >> shift being the tile.
template <class Key, unsigned PerLane>
__device__ unsigned first_of_tile(const Key (&key)[PerLane], int shift) {
  Key before = __shfl_up_sync(full_warp, key[PerLane - 1], 1);
  unsigned first = 0;
#pragma unroll
  for (unsigned j = 0; j < PerLane; ++j) {
    const bool none_before = j == 0 && threadIdx.x % 32 == 0;
    if (key[j] != no_key<Key> && (none_before || before >> shift != key[j] >> shift)) first |= 1U << j;
    before = key[j];
  }
  return first;
}

/// The sum of the lanes before this one.
__device__ inline unsigned sum_before_in_warp(unsigned value) {
  unsigned sum = value;
#pragma unroll
  for (unsigned lanes = 1; lanes < 32; lanes *= 2) {
    const unsigned other = __shfl_up_sync(full_warp, sum, lanes);
    if (threadIdx.x % 32 >= lanes) sum += other;
  }
  return sum - value;
}

/// The number of non-empty tiles of each tile row of a group, to the lane of the tile row.
template <int K, unsigned PerLane>
__device__ unsigned count_sorted(const NodeId* columns, const TileRowGroup& group, int tile_bits) {
  const unsigned lane = threadIdx.x % 32;
  NodeId key[PerLane];
#pragma unroll
  for (unsigned j = 0; j < PerLane; ++j) {
    const unsigned e = j * 32 + lane;
    key[j] = e < group.size ? columns[e] / K : no_key<NodeId>;
  }
  for (unsigned n = group.begin + 1; n < group.end; ++n) {
    const unsigned offset = __shfl_sync(full_warp, group.offset, n);
#pragma unroll
    for (unsigned j = 0; j < PerLane; ++j) {
      const unsigned e = j * 32 + lane;
      if (e >= offset && e < group.size) key[j] += NodeId{1} << tile_bits;
    }
  }
  sort_in_warp(key);
  // Sorted, the entries of each tile row are where they were: from its offset on.
  const unsigned first = first_of_tile(key, 0);
  const unsigned before = sum_before_in_warp(__popc(first));
  const unsigned source = group.offset / PerLane % 32;
  const unsigned lower = (1U << (group.offset % PerLane)) - 1;
  const unsigned from_source =
      __shfl_sync(full_warp, before, source) + __popc(__shfl_sync(full_warp, first, source) & lower);
  const unsigned all = __shfl_sync(full_warp, before + __popc(first), 31);
  const unsigned tiles_before = group.offset == 32 * PerLane ? all : from_source;
  return __shfl_down_sync(full_warp, tiles_before, 1) - tiles_before;
}

/// A warp's notes on tile rows whose entries it has sorted by tile.
struct SortedTileRow {
  std::uint16_t bit[longest_sorted];        ///< of each entry: row * K + column within its tile
  std::uint16_t start[longest_sorted + 1];  ///< of each tile: its first entry
  NodeId column[longest_sorted];            ///< of each tile
  std::uint16_t row_end[64];                ///< of each row: where its entries ended before they were sorted
};

/// Sorts `size` entries of neighbouring tile rows into `notes`; returns the number of tiles. notes.row_end is given.
template <int K, class Key, unsigned PerLane>
__device__ unsigned sort_tile_row(const NodeId* columns, unsigned size, int tile_bits, SortedTileRow& notes) {
  constexpr int side_bits = std::countr_zero(static_cast<unsigned>(K));
  const unsigned lane = threadIdx.x % 32;
  Key key[PerLane];
#pragma unroll
  for (unsigned j = 0; j < PerLane; ++j) {
    const unsigned e = j * 32 + lane;
    key[j] = no_key<Key>;
    if (e >= size) continue;
    unsigned row = 0;  // rows that end at or before e
#pragma unroll
    for (unsigned step = tile_rows_a_warp<K> * K / 2; step != 0; step /= 2) {
      row += notes.row_end[row + step - 1] <= e ? step : 0;
    }
    const NodeId column = columns[e];
    key[j] = (static_cast<Key>(row / K) << tile_bits | column / K) << 2 * side_bits | row % K << side_bits | column % K;
  }
  sort_in_warp(key);
  const unsigned first = first_of_tile(key, 2 * side_bits);
  unsigned tile = sum_before_in_warp(__popc(first));
#pragma unroll
  for (unsigned j = 0; j < PerLane; ++j) {
    const unsigned e = lane * PerLane + j;
    if (e >= size) break;
    notes.bit[e] = static_cast<std::uint16_t>(key[j] & (K * K - 1));
    if ((first >> j & 1U) == 0) continue;
    notes.start[tile] = static_cast<std::uint16_t>(e);
    notes.column[tile++] = static_cast<NodeId>(key[j] >> 2 * side_bits & ((Key{1} << tile_bits) - 1));
  }
  const unsigned tiles = __shfl_sync(full_warp, tile, 31);
  if (lane == 0) notes.start[tiles] = static_cast<std::uint16_t>(size);
  __syncwarp();
  return tiles;
}

/// How a tile's K * K bits are shared out: each lane has up to 128, and neighbouring lanes have a tile.
template <int K>
struct TileShare {
  static constexpr unsigned bits = K * K < 128 ? K * K : 128;
  static constexpr unsigned lanes = K * K / bits;
};

/// The lane's share of a tile that has the bits bit[0 .. size).
template <int K>
__device__ void store_share(std::byte* tile, const std::uint16_t* bit, unsigned size) {
  const unsigned share = threadIdx.x % TileShare<K>::lanes;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (unsigned e = 0; e < size; ++e) {
    const unsigned b = bit[e];
    if (TileShare<K>::lanes != 1 && b / TileShare<K>::bits != share) continue;
    const std::uint64_t one = std::uint64_t{1} << (b % 64);
    if (K > 8 && (b & 64U) != 0) {
      high |= one;
    } else {
      low |= one;
    }
  }
  if constexpr (K == 4) {
    *reinterpret_cast<std::uint16_t*>(tile) = static_cast<std::uint16_t>(low);
  } else if constexpr (K == 8) {
    *reinterpret_cast<std::uint64_t*>(tile) = low;
  } else {
    *reinterpret_cast<ulonglong2*>(tile + 16 * share) = make_ulonglong2(low, high);
  }
}

/// Writes the tiles of sorted tile rows.
template <int K>
__device__ void store_tiles(const SortedTileRow& notes, unsigned tiles, NodeId* columns, std::byte* bits) {
  const unsigned lane = threadIdx.x % 32;
  for (unsigned t = lane; t < tiles; t += 32) columns[t] = notes.column[t];
  for (unsigned t = lane / TileShare<K>::lanes; t < tiles; t += 32 / TileShare<K>::lanes) {
    store_share<K>(bits + t * tile_bytes(K), notes.bit + notes.start[t], notes.start[t + 1] - notes.start[t]);
  }
}

}  // namespace bitgraph::cuda_formats
