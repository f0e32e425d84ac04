// SPDX-License-Identifier: Apache-2.0
// Tiles to pattern CSR on a CUDA device: a warp a tile row, or a part of a long one. Two passes over the bits, one that
// counts the entries of rows and one that writes them.
#include <bitgraph/core/kernel.cuh>
#include "core/preconditions.hpp"
#include "formats/cuda/formats.hpp"
#include "formats/cuda/keys.cuh"
#include "formats/cuda/tile_sort.cuh"

#include <algorithm>

namespace bitgraph::cuda_formats {

namespace {

constexpr unsigned block_warps = 8;
constexpr EdgeOffset part_tiles = 1024;  ///< of a long tile row that a warp takes

/// A part of a long tile row. The parts of a tile row follow one another in the list.
struct UnpackPart {
  NodeId tile_row;
  NodeId part;
};

struct UnpackParts {
  UnpackPart* part = nullptr;
  unsigned* entries = nullptr;  ///< of each part, those of its K rows
  unsigned* count = nullptr;
};

/// How a warp looks at tiles: each lane at a row of one, or at two of side 64.
template <int K>
struct Lanes {
  static constexpr unsigned rows = K < 32 ? K : 32;  ///< rows side by side
  static constexpr unsigned tiles = 32 / rows;       ///< tiles side by side
  static constexpr unsigned turns = K / rows;        ///< rows a lane
};

/// The entries of tiles [begin, end) in rows lane % Lanes::rows (+ 32), to each lane that has them.
template <int K>
__device__ void count_rows(const BitTileView<K>& a, EdgeOffset begin, EdgeOffset end,
                           unsigned (&entries)[Lanes<K>::turns]) {
  const unsigned lane = threadIdx.x % 32;
  for (EdgeOffset t = begin + lane / Lanes<K>::rows; t < end; t += Lanes<K>::tiles) {
#pragma unroll
    for (unsigned turn = 0; turn < Lanes<K>::turns; ++turn) {
      entries[turn] += __popcll(a.tile_row(t, static_cast<int>(turn * 32 + lane % Lanes<K>::rows)));
    }
  }
#pragma unroll
  for (unsigned lanes = Lanes<K>::rows; lanes < 32; lanes *= 2) {
#pragma unroll
    for (unsigned turn = 0; turn < Lanes<K>::turns; ++turn) {
      entries[turn] += __shfl_xor_sync(full_warp, entries[turn], lanes);
    }
  }
}

/// What a lane reads of a tile.
template <int K>
struct TileRows {
  NodeId column = 0;
  std::uint64_t bits[Lanes<K>::turns]{};

  __device__ void read(const BitTileView<K>& a, EdgeOffset t) {
    column = __ldg(a.tile_col_ind + t) * K;
    const unsigned row = threadIdx.x % Lanes<K>::rows;
#pragma unroll
    for (unsigned turn = 0; turn < Lanes<K>::turns; ++turn) {
      if constexpr (K == 4) {
        bits[turn] = __ldg(a.bit_tiles + t) >> (4 * row) & 0xFU;
      } else {
        bits[turn] = __ldg(a.bit_tiles + t * K + turn * 32 + row);
      }
    }
  }
};

/// Writes the entries of tiles [begin, end); at[turn] is where those of the lane's row begin.
template <int K>
__device__ void write_rows(const BitTileView<K>& a, EdgeOffset begin, EdgeOffset end, EdgeOffset (&at)[Lanes<K>::turns],
                           NodeId* col_ind) {
  constexpr unsigned at_once = 4;  // reads that are under way together
  const unsigned lane = threadIdx.x % 32;
  for (EdgeOffset first = begin; first < end; first += at_once * Lanes<K>::tiles) {
    TileRows<K> tile[at_once];
#pragma unroll
    for (unsigned n = 0; n < at_once; ++n) {
      const EdgeOffset t = first + n * Lanes<K>::tiles + lane / Lanes<K>::rows;
      if (t < end) tile[n].read(a, t);
    }
#pragma unroll
    for (unsigned n = 0; n < at_once; ++n) {
#pragma unroll
      for (unsigned turn = 0; turn < Lanes<K>::turns; ++turn) {
        const unsigned mine = __popcll(tile[n].bits[turn]);
        unsigned sum = mine;  // of this tile and those at its left
#pragma unroll
        for (unsigned lanes = Lanes<K>::rows; lanes < 32; lanes *= 2) {
          const unsigned other = __shfl_up_sync(full_warp, sum, lanes);
          if (lane >= lanes) sum += other;
        }
        NodeId* to = col_ind + at[turn] + (sum - mine);
        for (std::uint64_t bits = tile[n].bits[turn]; bits != 0; bits &= bits - 1) {
          *to++ = tile[n].column + static_cast<NodeId>(__ffsll(static_cast<long long>(bits)) - 1);
        }
        at[turn] += __shfl_sync(full_warp, sum, 32 - Lanes<K>::rows + lane % Lanes<K>::rows);
      }
    }
  }
}

template <int K>
__global__ void __launch_bounds__(32 * block_warps)
    count_tile_rows(BitTileView<K> a, EdgeOffset* row_count, UnpackParts parts) {
  const std::size_t tile_row = std::size_t{blockIdx.x} * block_warps + threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  if (tile_row >= a.num_tile_rows) return;
  const EdgeOffset begin = a.tile_row_ptr[tile_row];
  const EdgeOffset end = a.tile_row_ptr[tile_row + 1];
  unsigned entries[Lanes<K>::turns]{};
  if (end - begin > part_tiles) {
    const auto num_parts = static_cast<unsigned>((end - begin + part_tiles - 1) / part_tiles);
    unsigned at = 0;
    if (lane == 0) at = atomicAdd(parts.count, num_parts);
    at = __shfl_sync(full_warp, at, 0);
    for (unsigned p = lane; p < num_parts; p += 32) parts.part[at + p] = {static_cast<NodeId>(tile_row), p};
  } else {
    count_rows<K>(a, begin, end, entries);
  }
  for (unsigned turn = 0; turn < Lanes<K>::turns; ++turn) {
    const std::size_t row = tile_row * K + turn * 32 + lane;
    if (lane < Lanes<K>::rows && row < a.nrows) row_count[row] = entries[turn];
  }
}

/// fn(number, part, its first tile, its end) for each part that is this warp's.
template <int K, class Fn>
__device__ void for_each_part(const BitTileView<K>& a, const UnpackParts& parts, Fn&& fn) {
  const unsigned count = *parts.count;
  for (unsigned n = blockIdx.x * block_warps + threadIdx.x / 32; n < count; n += gridDim.x * block_warps) {
    const UnpackPart part = parts.part[n];
    const EdgeOffset begin = a.tile_row_ptr[part.tile_row] + part.part * part_tiles;
    fn(n, part, begin, min(begin + part_tiles, a.tile_row_ptr[part.tile_row + 1]));
  }
}

template <int K>
__global__ void __launch_bounds__(32 * block_warps)
    count_parts(BitTileView<K> a, EdgeOffset* row_count, UnpackParts parts) {
  const unsigned lane = threadIdx.x % 32;
  for_each_part(a, parts, [&](unsigned n, const UnpackPart& part, EdgeOffset begin, EdgeOffset end) {
    unsigned entries[Lanes<K>::turns]{};
    count_rows<K>(a, begin, end, entries);
    for (unsigned turn = 0; turn < Lanes<K>::turns; ++turn) {
      const std::size_t row = std::size_t{part.tile_row} * K + turn * 32 + lane;
      if (lane >= Lanes<K>::rows) continue;
      parts.entries[std::size_t{n} * K + turn * 32 + lane] = entries[turn];
      if (row < a.nrows) {
        atomicAdd(reinterpret_cast<unsigned long long*>(row_count + row),
                  static_cast<unsigned long long>(entries[turn]));
      }
    }
  });
}

template <int K>
__global__ void __launch_bounds__(32 * block_warps)
    write_tile_rows(BitTileView<K> a, const EdgeOffset* row_ptr, NodeId* col_ind) {
  const std::size_t tile_row = std::size_t{blockIdx.x} * block_warps + threadIdx.x / 32;
  if (tile_row >= a.num_tile_rows) return;
  const EdgeOffset begin = a.tile_row_ptr[tile_row];
  const EdgeOffset end = a.tile_row_ptr[tile_row + 1];
  if (end - begin > part_tiles) return;
  EdgeOffset at[Lanes<K>::turns];
  for (unsigned turn = 0; turn < Lanes<K>::turns; ++turn) {
    at[turn] = row_ptr[min(tile_row * K + turn * 32 + threadIdx.x % Lanes<K>::rows, std::size_t{a.nrows})];
  }
  write_rows<K>(a, begin, end, at, col_ind);
}

template <int K>
__global__ void __launch_bounds__(32 * block_warps)
    write_parts(BitTileView<K> a, UnpackParts parts, const EdgeOffset* row_ptr, NodeId* col_ind) {
  for_each_part(a, parts, [&](unsigned n, const UnpackPart& part, EdgeOffset begin, EdgeOffset end) {
    EdgeOffset at[Lanes<K>::turns];
    for (unsigned turn = 0; turn < Lanes<K>::turns; ++turn) {
      const unsigned r = turn * 32 + threadIdx.x % Lanes<K>::rows;
      at[turn] = row_ptr[min(std::size_t{part.tile_row} * K + r, std::size_t{a.nrows})];
      for (unsigned before = n - part.part; before < n; ++before)
        at[turn] += parts.entries[std::size_t{before} * K + r];
    }
    write_rows<K>(a, begin, end, at, col_ind);
  });
}

template <int K>
CsrPattern unpack_tiles(const BitTileMatrix& tiles) {
  const Device& device = tiles.device();
  const BitTileView<K> a = tiles.view<K>();
  require_memory(device, "unpacking", sizeof(EdgeOffset) * (std::size_t{a.nrows} + 1) + sizeof(NodeId) * tiles.nvals());
  Buffer<EdgeOffset> row_ptr(std::size_t{a.nrows} + 1, EdgeOffset{0}, device);
  Buffer<NodeId> col_ind(tiles.nvals(), device);
  if (a.num_tile_rows != 0) {
    const std::size_t most_parts = tiles.num_tiles() / (part_tiles + 1) + tiles.num_tiles() / part_tiles + 1;
    Buffer<UnpackPart> part(most_parts, device);
    Buffer<unsigned> entries(most_parts * K, device);
    Buffer<unsigned> count(1, 0U, device);
    const UnpackParts parts{part.data(), entries.data(), count.data()};
    const unsigned blocks = blocks_for(a.num_tile_rows, block_warps);
    const unsigned part_blocks = std::min(blocks_for(most_parts, block_warps), 1024U);
    const cudaStream_t stream = stream_of(device);
    count_tile_rows<K><<<blocks, 32 * block_warps, 0, stream>>>(a, row_ptr.data(), parts);
    cuda_check_launch("count_tile_rows");
    count_parts<K><<<part_blocks, 32 * block_warps, 0, stream>>>(a, row_ptr.data(), parts);
    cuda_check_launch("count_parts");
    if (exclusive_scan(row_ptr) != tiles.nvals()) fail(ErrorCode::bad_input, "B2SR: the bits are not as many as nvals");
    write_parts<K><<<part_blocks, 32 * block_warps, 0, stream>>>(a, parts, row_ptr.data(), col_ind.data());
    cuda_check_launch("write_parts");
    write_tile_rows<K><<<blocks, 32 * block_warps, 0, stream>>>(a, row_ptr.data(), col_ind.data());
    cuda_check_launch("write_tile_rows");
  }
  return {a.nrows, a.ncols, std::move(row_ptr), std::move(col_ind)};
}

}  // namespace

CsrPattern unpack(const Cuda& backend, const BitTileMatrix& a) {
  const ScopedCudaDevice scope(backend.device.index());
  return with_tile_dim(a.tile_dim(), [&](auto k) { return unpack_tiles<k()>(a); });
}

}  // namespace bitgraph::cuda_formats
