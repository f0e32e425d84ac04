// SPDX-License-Identifier: Apache-2.0
// The transpose of tiles on a CUDA device: the tiles are sorted by column, then each is turned by a few lanes.
#include "core/cuda.cuh"
#include "core/room.hpp"
#include "formats/cuda_formats.hpp"
#include "formats/cuda_keys.cuh"
#include "formats/cuda_tile_sort.cuh"

namespace bitgraph::cuda_formats {

namespace {

constexpr unsigned block_threads = 256;

/// The tile row of tile t: the last one that starts at or before it and has tiles.
__device__ NodeId tile_row_of(const EdgeOffset* tile_row_ptr, NodeId num_tile_rows, EdgeOffset t) {
  NodeId low = 0;
  NodeId high = num_tile_rows - 1;
  while (low < high) {
    const NodeId middle = low + (high - low + 1) / 2;
    if (tile_row_ptr[middle] <= t) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

__global__ void write_tile_keys(const EdgeOffset* tile_row_ptr, NodeId num_tile_rows, const NodeId* tile_col_ind,
                                EdgeOffset num_tiles, int low_bits, std::uint64_t* keys, NodeId* row) {
  const EdgeOffset t = EdgeOffset{blockIdx.x} * block_threads + threadIdx.x;
  if (t >= num_tiles) return;
  keys[t] = std::uint64_t{tile_col_ind[t]} << low_bits | t;
  row[t] = tile_row_of(tile_row_ptr, num_tile_rows, t);
}

__global__ void find_tile_rows(const std::uint64_t* keys, EdgeOffset num_tiles, int low_bits, NodeId num_rows,
                               EdgeOffset* row_ptr) {
  const std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i > num_rows) return;
  EdgeOffset low = 0;
  EdgeOffset high = num_tiles;
  while (low < high) {
    const EdgeOffset middle = (low + high) / 2;
    if (keys[middle] >> low_bits < i) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  row_ptr[i] = low;
}

/// Bits (r, c) and (c, r) of a K x K block change places; lane r has row r in the low K bits of `row`, or row r + 32
/// in `lower_row` too. By exchanging ever smaller blocks, as transpose_bits() does.
template <int K>
__device__ void transpose_in_lanes(std::uint64_t& row, std::uint64_t& lower_row) {
  std::uint64_t mask = ~std::uint64_t{0} >> (64 - K / 2);
#pragma unroll
  for (unsigned half = K / 2; half != 0; half /= 2, mask ^= mask << half) {
    if (half == 32) {
      const std::uint64_t swapped = ((row >> 32) ^ lower_row) & mask;
      row ^= swapped << 32;
      lower_row ^= swapped;
      continue;
    }
    const bool upper = (threadIdx.x & half) == 0;
    const auto exchange = [&](std::uint64_t& mine) {
      const std::uint64_t other = __shfl_xor_sync(full_warp, mine, half);
      mine = upper ? (mine & mask) | (other & mask) << half : (mine & ~mask) | (other >> half & mask);
    };
    exchange(row);
    if constexpr (K == 64) exchange(lower_row);
  }
}

template <int K>
__global__ void __launch_bounds__(block_threads)
    turn_tiles(BitTileView<K> a, const std::uint64_t* keys, EdgeOffset num_tiles, int low_bits, const NodeId* row,
               NodeId* tile_col_ind, TileWord<K>* bit_tiles) {
  constexpr unsigned lanes = K == 4 ? 1 : (K < 32 ? K : 32);  // of a tile
  const EdgeOffset n = (EdgeOffset{blockIdx.x} * block_threads + threadIdx.x) / lanes;
  const unsigned r = threadIdx.x % lanes;
  const bool there = n < num_tiles;
  const EdgeOffset t = there ? keys[n] & ((std::uint64_t{1} << low_bits) - 1) : 0;
  if (there && r == 0) tile_col_ind[n] = row[t];
  if constexpr (K == 4) {
    if (!there) return;
    unsigned bits = a.bit_tiles[t];
    unsigned swapped = (bits ^ bits >> 3) & 0x0A0AU;  // within the 2 x 2 blocks, then the blocks
    bits ^= swapped | swapped << 3;
    swapped = (bits ^ bits >> 6) & 0x00CCU;
    bits ^= swapped | swapped << 6;
    bit_tiles[n] = static_cast<std::uint16_t>(bits);
  } else {
    std::uint64_t mine = there ? a.bit_tiles[t * K + r] : 0;
    std::uint64_t lower = K == 64 && there ? a.bit_tiles[t * K + r + K / 2] : 0;
    transpose_in_lanes<K>(mine, lower);
    if (!there) return;
    bit_tiles[n * K + r] = static_cast<TileWord<K>>(mine);
    if constexpr (K == 64) bit_tiles[n * K + r + K / 2] = lower;
  }
}

template <int K>
BitTileMatrix transpose_tiles(const BitTileMatrix& tiles) {
  const Device& device = tiles.device();
  const cudaStream_t stream = stream_of(device);
  const BitTileView<K> a = tiles.view<K>();
  const EdgeOffset num_tiles = tiles.num_tiles();
  const auto num_rows = static_cast<NodeId>((std::size_t{a.ncols} + K - 1) / K);
  require_room(device, "a transpose", num_tiles * (2 * sizeof(std::uint64_t) + 2 * sizeof(NodeId) + tile_bytes(K)));
  const int low_bits = bits_for(num_tiles);
  Buffer<std::uint64_t> keys(num_tiles, device);
  Buffer<NodeId> row(num_tiles, device);
  if (num_tiles != 0) {
    write_tile_keys<<<blocks_for(num_tiles, block_threads), block_threads, 0, stream>>>(
        a.tile_row_ptr, a.num_tile_rows, a.tile_col_ind, num_tiles, low_bits, keys.data(), row.data());
    cuda_check_launch("write_tile_keys");
  }
  keys = sorted(std::move(keys), low_bits, low_bits + bits_for(num_rows));
  Buffer<EdgeOffset> row_ptr(std::size_t{num_rows} + 1, device);
  find_tile_rows<<<blocks_for(row_ptr.size(), block_threads), block_threads, 0, stream>>>(
      keys.data(), num_tiles, low_bits, num_rows, row_ptr.data());
  cuda_check_launch("find_tile_rows");
  Buffer<NodeId> col_ind(num_tiles, device);
  Buffer<std::byte> bits(num_tiles * tile_bytes(K), device);
  if (num_tiles != 0) {
    constexpr unsigned tiles_a_block = block_threads / (K == 4 ? 1 : (K < 32 ? K : 32));
    turn_tiles<K><<<blocks_for(num_tiles, tiles_a_block), block_threads, 0, stream>>>(
        a, keys.data(), num_tiles, low_bits, row.data(), col_ind.data(), reinterpret_cast<TileWord<K>*>(bits.data()));
    cuda_check_launch("turn_tiles");
  }
  return {a.ncols, a.nrows, K, std::move(row_ptr), std::move(col_ind), std::move(bits), tiles.nvals()};
}

}  // namespace

BitTileMatrix transpose(const BitTileMatrix& a) {
  const ScopedCudaDevice scope(a.device().index());
  return with_tile_dim(a.tile_dim(), [&](auto k) { return transpose_tiles<k()>(a); });
}

}  // namespace bitgraph::cuda_formats
