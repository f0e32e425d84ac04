// SPDX-License-Identifier: Apache-2.0
// Entries and tiles by where they are, on a CUDA device: one pass marks those that are kept, a bit each, another writes
// them where the marks before them say.
#include "ops/select/select.hpp"

#include <bitgraph/core/kernel.cuh>
#include "formats/cuda/ranks.cuh"

#include <bitgraph/ops/select.hpp>

namespace bitgraph {

namespace {

using cuda_formats::Ranks;
using cuda_formats::RankView;
using detail::kernel_threads;

struct EntryMove {
  const NodeId* from;
  NodeId* to;
  __device__ NodeId take(std::size_t e) const { return from[e]; }
  __device__ void put(EdgeOffset place, NodeId column) const { to[place] = column; }
};

/// How much of a tile is kept.
enum class Part { none, some, all };

/// A piece of a tile that a lane looks at: 64 bits, or where the side is 4 all 16.
template <int K>
using Piece = std::conditional_t<K == 4, std::uint16_t, std::uint64_t>;
template <int K>
inline constexpr unsigned pieces_a_tile = K == 4 ? 1 : K* K / 64;

/// A tile is a square of diagonals: most are wholly inside or outside.
struct DiagonalFilter {
  static constexpr bool needs_rows = true;
  DiagonalRule rule;

  template <int K>
  [[nodiscard]] __device__ Part part(NodeId row, NodeId column) const {
    const std::int64_t middle = (std::int64_t{column} - std::int64_t{row}) * K;
    if (rule.lowest <= middle - (K - 1) && middle + (K - 1) <= rule.highest)
      return rule.inside ? Part::all : Part::none;
    if (middle + (K - 1) < rule.lowest || middle - (K - 1) > rule.highest) return rule.inside ? Part::none : Part::all;
    return Part::some;
  }

  /// The bits of piece `p` of a tile that are kept.
  template <int K>
  [[nodiscard]] __device__ std::uint64_t bits(NodeId row, NodeId column, unsigned p) const {
    constexpr unsigned rows = K == 4 ? 4 : 64 / K;
    std::uint64_t kept = 0;
    for (unsigned r = 0; r < rows; ++r) {
      // The columns of this row that lie on the diagonals are c with first <= c <= last.
      const std::int64_t on_main = (std::int64_t{row} - std::int64_t{column}) * K + p * rows + r;
      const std::int64_t first = max(std::int64_t{0}, rule.lowest + on_main);
      const std::int64_t last = min(std::int64_t{K - 1}, rule.highest + on_main);
      std::uint64_t inside = 0;
      if (first <= last) inside = (~std::uint64_t{0} >> (63 - (last - first))) << first;
      kept |= (rule.inside ? inside : inside ^ (~std::uint64_t{0} >> (64 - K))) << (r * K % 64);
    }
    return kept;
  }
};

/// The bits as they are: tiles without any are not kept.
struct AnyBit {
  static constexpr bool needs_rows = false;
  template <int K>
  [[nodiscard]] __device__ Part part(NodeId, NodeId) const {
    return Part::some;
  }
  template <int K>
  [[nodiscard]] __device__ std::uint64_t bits(NodeId, NodeId, unsigned) const {
    return ~std::uint64_t{0};
  }
};

/// Tiles, and the bits that take the place of theirs.
template <int K>
struct TileStream {
  BitTileView<K> a;
  EdgeOffset num_tiles;
  const Piece<K>* pieces;
};

template <int K>
constexpr unsigned tiles_a_block = (K <= 8 ? 4 : 1) * kernel_threads;
template <int K>
using TileRows = detail::RowTable<tiles_a_block<K>>;

/// Lanes that look at a tile together, at most four pieces each.
template <int K>
inline constexpr unsigned lanes_a_tile = pieces_a_tile<K> <= 4 ? 1 : pieces_a_tile<K> / 4;

template <int K, class Filter>
__global__ void __launch_bounds__(kernel_threads) flag_tiles(TileStream<K> tiles, Filter filter, std::uint32_t* words) {
  constexpr unsigned lanes = lanes_a_tile<K>;
  __shared__ TileRows<K> rows;
  __shared__ std::uint32_t flags[tiles_a_block<K> / 32];
  const EdgeOffset begin = EdgeOffset{blockIdx.x} * tiles_a_block<K>;
  const EdgeOffset end = min(begin + tiles_a_block<K>, tiles.num_tiles);
  if (Filter::needs_rows) rows.find(tiles.a.tile_row_ptr, tiles.a.num_tile_rows, begin, end);
  if (threadIdx.x < tiles_a_block<K> / 32) flags[threadIdx.x] = 0;
  __syncthreads();
  for (EdgeOffset t = begin + threadIdx.x / lanes; t < end; t += kernel_threads / lanes) {
    const NodeId row = Filter::needs_rows ? rows.row[t - begin] : 0;
    const NodeId column = tiles.a.tile_col_ind[t];
    const Part part = filter.template part<K>(row, column);
    std::uint64_t any = part == Part::all ? 1 : 0;
    for (unsigned p = threadIdx.x % lanes; part == Part::some && p < pieces_a_tile<K>; p += lanes) {
      any |= tiles.pieces[t * pieces_a_tile<K> + p] & filter.template bits<K>(row, column, p);
    }
    const auto at = static_cast<unsigned>(t - begin);
    if (any != 0) atomicOr(&flags[at / 32], 1U << (at % 32));
  }
  __syncthreads();
  if (threadIdx.x < tiles_a_block<K> / 32 && begin + threadIdx.x * 32 < end) {
    words[begin / 32 + threadIdx.x] = flags[threadIdx.x];
  }
}

struct KeptTiles {
  NodeId* tile_col_ind;
  std::byte* bits;
  unsigned long long* nvals;  ///< the bits are added to it
};

template <int K, class Filter>
__global__ void __launch_bounds__(kernel_threads)
    write_tiles(TileStream<K> tiles, Filter filter, RankView kept, KeptTiles out) {
  constexpr unsigned pieces = pieces_a_tile<K>;
  __shared__ TileRows<K> rows;
  __shared__ std::uint16_t list[tiles_a_block<K>];  // the kept ones, counted from the first of the block
  const EdgeOffset begin = EdgeOffset{blockIdx.x} * tiles_a_block<K>;
  const EdgeOffset end = min(begin + tiles_a_block<K>, tiles.num_tiles);
  const EdgeOffset to = kept.rank(begin);
  const auto count = static_cast<unsigned>(kept.rank(end) - to);
  if (Filter::needs_rows) rows.find(tiles.a.tile_row_ptr, tiles.a.num_tile_rows, begin, end);
  for (EdgeOffset own = begin + threadIdx.x; own < end; own += kernel_threads) {
    if (!kept.bit(own)) continue;
    const EdgeOffset place = kept.rank(own);
    list[place - to] = static_cast<std::uint16_t>(own - begin);
    out.tile_col_ind[place] = tiles.a.tile_col_ind[own];
  }
  __syncthreads();
  unsigned entries = 0;
  for (unsigned n = threadIdx.x; n < count * pieces; n += kernel_threads) {
    const EdgeOffset t = begin + list[n / pieces];
    std::uint64_t bits = tiles.pieces[t * pieces + n % pieces];
    if (Filter::needs_rows) {
      const NodeId row = rows.row[t - begin];
      const NodeId column = tiles.a.tile_col_ind[t];
      if (filter.template part<K>(row, column) == Part::some) bits &= filter.template bits<K>(row, column, n % pieces);
    }
    reinterpret_cast<Piece<K>*>(out.bits)[to * pieces + n] = static_cast<Piece<K>>(bits);
    entries += __popcll(bits);
  }
  entries = __reduce_add_sync(full_warp, entries);
  if (threadIdx.x % 32 == 0 && entries != 0) atomicAdd(out.nvals, static_cast<unsigned long long>(entries));
}

template <int K, class Filter>
BitTileMatrix kept_tiles(const BitTileMatrix& a, const std::byte* bits, const Filter& filter) {
  const Device& device = a.device();
  const cudaStream_t stream = stream_of(device);
  const TileStream<K> tiles{a.view<K>(), a.num_tiles(), reinterpret_cast<const Piece<K>*>(bits)};
  const unsigned blocks = blocks_for(a.num_tiles(), tiles_a_block<K>);
  BitVector kept(a.num_tiles(), device);
  if (a.num_tiles() != 0) {
    flag_tiles<K>
        <<<blocks, kernel_threads, 0, stream>>>(tiles, filter, reinterpret_cast<std::uint32_t*>(kept.words().data()));
    cuda_check_launch("flag_tiles");
  }
  const Ranks ranks(kept);
  Buffer<EdgeOffset> tile_row_ptr = cuda_formats::kept_row_ptr(ranks, tiles.a.tile_row_ptr, a.num_tile_rows(), device);
  Buffer<NodeId> tile_col_ind(ranks.count(), device);
  Buffer<std::byte> kept_bits(ranks.count() * tile_bytes(K), device);
  Buffer<unsigned long long> nvals(1, 0ULL, device);
  if (ranks.count() != 0) {
    write_tiles<K><<<blocks, kernel_threads, 0, stream>>>(tiles, filter, ranks.view(),
                                                          {tile_col_ind.data(), kept_bits.data(), nvals.data()});
    cuda_check_launch("write_tiles");
  }
  return {a.nrows(),
          a.ncols(),
          K,
          std::move(tile_row_ptr),
          std::move(tile_col_ind),
          std::move(kept_bits),
          nvals.to(Device{})[0]};
}

}  // namespace

CsrPattern entries_in(const Cuda& backend, const CsrPattern& a, const BitVector& kept) {
  const ScopedCudaDevice scope(backend.device.index());
  const Ranks ranks(kept);
  Buffer<EdgeOffset> row_ptr = cuda_formats::kept_row_ptr(ranks, a.row_ptr().data(), a.nrows(), backend.device);
  Buffer<NodeId> col_ind(ranks.count(), backend.device);
  if (ranks.count() != 0) {
    cuda_formats::move_kept(ranks, EntryMove{a.col_ind().data(), col_ind.data()}, backend.device);
  }
  return {a.nrows(), a.ncols(), std::move(row_ptr), std::move(col_ind)};
}

BitTileMatrix tiles_with(const Cuda& backend, const BitTileMatrix& a, const Buffer<std::byte>& bits) {
  const ScopedCudaDevice scope(backend.device.index());
  return with_tile_dim(a.tile_dim(), [&](auto k) { return kept_tiles<k()>(a, bits.data(), AnyBit{}); });
}

CsrPattern select_diagonals(const Cuda&, const CsrPattern& a, const DiagonalRule& rule) {
  return detail::select_on_device(a, rule);
}

BitTileMatrix select_diagonals(const Cuda& backend, const BitTileMatrix& a, const DiagonalRule& rule) {
  const ScopedCudaDevice scope(backend.device.index());
  return with_tile_dim(a.tile_dim(),
                       [&](auto k) { return kept_tiles<k()>(a, a.bit_tiles().data(), DiagonalFilter{rule}); });
}

}  // namespace bitgraph
