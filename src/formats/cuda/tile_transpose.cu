// SPDX-License-Identifier: Apache-2.0
// The transpose of tiles on a CUDA device: the tiles are sorted by column, then each is turned by a few lanes.
#include <bitgraph/core/kernel.cuh>
#include "core/preconditions.hpp"
#include "formats/cuda/formats.hpp"
#include "formats/cuda/keys.cuh"
#include "formats/cuda/tile_sort.cuh"

#include <bitgraph/formats/rows_of.cuh>

#include <type_traits>

namespace bitgraph::cuda_formats {

namespace {

constexpr unsigned block_threads = 256;
constexpr EdgeOffset key_tiles = 4096;  ///< tiles a block makes keys of

/// A block a piece of the tiles, whose rows are looked for among those of its first and its last.
__global__ void __launch_bounds__(block_threads)
    write_tile_keys(const EdgeOffset* tile_row_ptr, NodeId num_tile_rows, const NodeId* tile_col_ind,
                    EdgeOffset num_tiles, int low_bits, std::uint64_t* keys, NodeId* row) {
  __shared__ NodeId bound[2];
  const EdgeOffset begin = EdgeOffset{blockIdx.x} * key_tiles;
  const EdgeOffset end = min(begin + key_tiles, num_tiles);
  if (threadIdx.x < 2) {
    bound[threadIdx.x] = detail::row_of(tile_row_ptr, 0, num_tile_rows - 1, threadIdx.x == 0 ? begin : end - 1);
  }
  __syncthreads();
  for (EdgeOffset t = begin + threadIdx.x; t < end; t += block_threads) {
    keys[t] = std::uint64_t{tile_col_ind[t]} << low_bits | t;
    row[t] = detail::row_of(tile_row_ptr, bound[0], bound[1], t);
  }
}

/// Lanes that turn a tile together; alone, a lane turns one in a register.
template <int K>
inline constexpr unsigned turning_lanes = K <= 8 ? 1 : (K < 32 ? K : 32);

/// Bits (r, c) and (c, r) of a K x K block change places; lane r has row r, or at K = 64 row r + 32 in `lower` too. By
/// exchanging ever smaller blocks, as transpose_bits() does.
template <int K, class Row>
__device__ void transpose_in_lanes(Row& row, Row& lower) {
  Row mask = static_cast<Row>(~std::uint64_t{0} >> (64 - K / 2));
#pragma unroll
  for (unsigned half = K / 2; half != 0; half /= 2, mask ^= mask << half) {
    if (half == 32) {
      const Row swapped = (row >> (half % (8 * sizeof(Row))) ^ lower) & mask;
      row ^= swapped << (half % (8 * sizeof(Row)));
      lower ^= swapped;
      continue;
    }
    const bool upper = (threadIdx.x & half) == 0;
    const auto exchange = [&](Row& mine) {
      const Row other = __shfl_xor_sync(full_warp, mine, half);
      mine = upper ? (mine & mask) | (other & mask) << half : (mine & ~mask) | (other >> half & mask);
    };
    exchange(row);
    if constexpr (K == 64) exchange(lower);
  }
}

/// Bits (r, c) and (c, r) change places in a tile of side 4 or 8, all of it in one word.
__device__ inline std::uint16_t transposed_bits(std::uint16_t tile) {
  unsigned bits = tile;
  unsigned swapped = (bits ^ bits >> 3) & 0x0A0AU;  // within the 2 x 2 blocks, then the blocks
  bits ^= swapped | swapped << 3;
  swapped = (bits ^ bits >> 6) & 0x00CCU;
  return static_cast<std::uint16_t>(bits ^ (swapped | swapped << 6));
}
__device__ inline std::uint64_t transposed_bits(std::uint64_t bits) {
  std::uint64_t swapped = (bits ^ bits >> 7) & 0x00AA00AA00AA00AAU;
  bits ^= swapped | swapped << 7;
  swapped = (bits ^ bits >> 14) & 0x0000CCCC0000CCCCU;
  bits ^= swapped | swapped << 14;
  swapped = (bits ^ bits >> 28) & 0x00000000F0F0F0F0U;
  return bits ^ (swapped | swapped << 28);
}

template <int K>
__global__ void __launch_bounds__(block_threads)
    turn_tiles(BitTileView<K> a, const std::uint64_t* keys, EdgeOffset num_tiles, int low_bits, const NodeId* row,
               NodeId* tile_col_ind, TileWord<K>* bit_tiles) {
  const EdgeOffset n = (EdgeOffset{blockIdx.x} * block_threads + threadIdx.x) / turning_lanes<K>;
  const unsigned r = threadIdx.x % turning_lanes<K>;
  const bool there = n < num_tiles;
  const EdgeOffset t = there ? keys[n] & ((std::uint64_t{1} << low_bits) - 1) : 0;
  if (there && r == 0) tile_col_ind[n] = row[t];
  if constexpr (K <= 8) {
    using Tile = std::conditional_t<K == 4, std::uint16_t, std::uint64_t>;
    if (there) {
      reinterpret_cast<Tile*>(bit_tiles)[n] = transposed_bits(reinterpret_cast<const Tile*>(a.bit_tiles)[t]);
    }
  } else {
    using Row = std::conditional_t<K == 64, std::uint64_t, std::uint32_t>;
    Row mine = there ? a.bit_tiles[t * K + r] : 0;
    Row lower = K == 64 && there ? a.bit_tiles[t * K + r + K / 2] : 0;
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
  require_memory(device, "a transpose", num_tiles * (2 * sizeof(std::uint64_t) + 2 * sizeof(NodeId) + tile_bytes(K)));
  const int low_bits = bits_for(num_tiles);
  Buffer<std::uint64_t> keys(num_tiles, device);
  Buffer<NodeId> row(num_tiles, device);
  if (num_tiles != 0) {
    write_tile_keys<<<blocks_for(num_tiles, key_tiles), block_threads, 0, stream>>>(
        a.tile_row_ptr, a.num_tile_rows, a.tile_col_ind, num_tiles, low_bits, keys.data(), row.data());
    cuda_check_launch("write_tile_keys");
  }
  keys = sorted(std::move(keys), low_bits, low_bits + bits_for(num_rows));
  Buffer<EdgeOffset> row_ptr = row_pointers(keys, low_bits, num_rows);
  Buffer<NodeId> col_ind(num_tiles, device);
  Buffer<std::byte> bits(num_tiles * tile_bytes(K), device);
  if (num_tiles != 0) {
    constexpr unsigned tiles_a_block = block_threads / turning_lanes<K>;
    turn_tiles<K><<<blocks_for(num_tiles, tiles_a_block), block_threads, 0, stream>>>(
        a, keys.data(), num_tiles, low_bits, row.data(), col_ind.data(), reinterpret_cast<TileWord<K>*>(bits.data()));
    cuda_check_launch("turn_tiles");
  }
  return {a.ncols, a.nrows, K, std::move(row_ptr), std::move(col_ind), std::move(bits), tiles.nvals()};
}

}  // namespace

BitTileMatrix transpose(const Cuda& backend, const BitTileMatrix& a) {
  const ScopedCudaDevice scope(backend.device.index());
  return with_tile_dim(a.tile_dim(), [&](auto k) { return transpose_tiles<k()>(a); });
}

}  // namespace bitgraph::cuda_formats
