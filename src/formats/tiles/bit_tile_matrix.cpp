// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/bit_tile_matrix.hpp>

#include "core/devices/backend.hpp"
#include "core/preconditions.hpp"
#include "core/threads/parallel.hpp"
#include "formats/bits/bit_transpose.hpp"
#include "formats/cuda/formats.hpp"
#include "formats/pattern/transpose_index.hpp"
#include "formats/tiles/tile_marks.hpp"

#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <limits>

namespace bitgraph {

namespace {

/// Tile rows a chunk of a parallel loop: the same number of matrix rows at every side.
constexpr std::size_t chunk_of(int k) { return 4096 / static_cast<std::size_t>(k); }

[[nodiscard]] NodeId tile_count(NodeId n, int k) {
  return static_cast<NodeId>((std::size_t{n} + static_cast<std::size_t>(k) - 1) / static_cast<std::size_t>(k));
}

template <int K>
void set_tile_bit(TileWord<K>* tile, unsigned r, unsigned c) {
  if constexpr (K == 4) {
    *tile = static_cast<TileWord<K>>(*tile | (1U << (4 * r + c)));
  } else {
    tile[r] = static_cast<TileWord<K>>(tile[r] | (TileWord<K>{1} << c));
  }
}

template <int K>
std::array<std::uint64_t, K> tile_rows(const BitTileView<K>& a, EdgeOffset t) {
  std::array<std::uint64_t, K> rows;
  for (int r = 0; r < K; ++r) rows[static_cast<std::size_t>(r)] = a.tile_row(t, r);
  return rows;
}

template <int K>
void store_tile(TileWord<K>* tile, const std::array<std::uint64_t, K>& rows) {
  if constexpr (K == 4) {
    *tile = static_cast<TileWord<K>>(rows[0] | (rows[1] << 4) | (rows[2] << 8) | (rows[3] << 12));
  } else {
    for (std::size_t r = 0; r < K; ++r) tile[r] = static_cast<TileWord<K>>(rows[r]);
  }
}

template <int K>
BitTileMatrix pack_tiles(const CsrPattern& csr, const Device& device) {
  const CsrPatternView a = csr.view();
  const NodeId tile_row_count = tile_count(a.nrows, K);
  Buffer<EdgeOffset> row_ptr(std::size_t{tile_row_count} + 1, device);
  row_ptr[tile_row_count] = 0;
  parallel_chunks(device, tile_row_count, chunk_of(K), [&](Range range) {
    device.throw_if_stopped();
    TileRowMarks<K> marks;
    for (std::size_t i = range.begin; i < range.end; ++i) row_ptr[i] = marks.count(a, static_cast<NodeId>(i));
  });
  const EdgeOffset num_tiles = exclusive_scan(device, row_ptr.span());
  Buffer<NodeId> col_ind(num_tiles, device);
  Buffer<std::byte> bits(num_tiles * tile_bytes(K), device);
  auto* words = reinterpret_cast<TileWord<K>*>(bits.data());
  parallel_chunks(device, tile_row_count, chunk_of(K), [&](Range range) {
    device.throw_if_stopped();
    TileRowMarks<K> marks;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      EdgeOffset t = row_ptr[i];
      TileWord<K>* tiles = words + t * tile_words<K>;
      marks.visit(
          a, static_cast<NodeId>(i),
          [&](NodeId column) {
            std::memset(words + t * tile_words<K>, 0, tile_bytes(K));
            col_ind[t++] = column;
          },
          [&](std::size_t number, NodeId r, NodeId c) { set_tile_bit<K>(tiles + number * tile_words<K>, r, c); });
    }
  });
  return {a.nrows, a.ncols, K, std::move(row_ptr), std::move(col_ind), std::move(bits), csr.nvals(), trusted};
}

template <int K>
CsrPattern unpack_tiles(const BitTileMatrix& tiles) {
  const BitTileView<K> a = tiles.view<K>();
  const Device& device = tiles.device();
  Buffer<EdgeOffset> row_ptr(std::size_t{a.nrows} + 1, EdgeOffset{0}, device);
  const auto rows_of = [&](std::size_t tile_row) { return std::min<std::size_t>(K, a.nrows - tile_row * K); };
  parallel_chunks(device, a.num_tile_rows, chunk_of(K), [&](Range range) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      for (EdgeOffset t = a.tile_row_ptr[i]; t < a.tile_row_ptr[i + 1]; ++t) {
        for (std::size_t r = 0; r < rows_of(i); ++r) {
          const std::uint64_t bits = a.tile_row(t, static_cast<int>(r));
          if (bits != 0) row_ptr[i * K + r] += static_cast<EdgeOffset>(std::popcount(bits));
        }
      }
    }
  });
  Buffer<NodeId> col_ind(exclusive_scan(device, row_ptr.span()), device);
  parallel_chunks(device, a.num_tile_rows, chunk_of(K), [&](Range range) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      std::array<EdgeOffset, K> next{};
      for (std::size_t r = 0; r < rows_of(i); ++r) next[r] = row_ptr[i * K + r];
      for (EdgeOffset t = a.tile_row_ptr[i]; t < a.tile_row_ptr[i + 1]; ++t) {
        for (std::size_t r = 0; r < rows_of(i); ++r) {
          for (std::uint64_t bits = a.tile_row(t, static_cast<int>(r)); bits != 0; bits &= bits - 1) {
            col_ind[next[r]++] = a.tile_col_ind[t] * K + static_cast<NodeId>(std::countr_zero(bits));
          }
        }
      }
    }
  });
  return {a.nrows, a.ncols, std::move(row_ptr), std::move(col_ind), trusted};
}

template <int K>
BitTileMatrix transpose_tiles(const BitTileMatrix& tiles) {
  const BitTileView<K> a = tiles.view<K>();
  const Device& device = tiles.device();
  Buffer<NodeId> col_ind(tiles.num_tiles(), device);
  Buffer<std::byte> bits(tiles.num_tiles() * tile_bytes(K), device);
  auto* words = reinterpret_cast<TileWord<K>*>(bits.data());
  const CompressedRows index{a.num_tile_rows, tile_count(a.ncols, K), tiles.tile_row_ptr(), tiles.tile_col_ind()};
  Buffer<EdgeOffset> row_ptr = transpose_index(device, index, [&](EdgeOffset from, EdgeOffset to, NodeId i) {
    col_ind[to] = i;
    auto rows = tile_rows<K>(a, from);
    transpose_bits<K>(rows);
    store_tile<K>(words + to * tile_words<K>, rows);
  });
  return {a.ncols, a.nrows, K, std::move(row_ptr), std::move(col_ind), std::move(bits), tiles.nvals(), trusted};
}

/// What is wrong with a tile row, or null. Adds the row's bits to `nvals`.
template <int K>
const char* tile_row_fault(const BitTileView<K>& a, std::size_t i, EdgeOffset& nvals) {
  const NodeId tile_cols = tile_count(a.ncols, K);
  const std::size_t rows = std::min<std::size_t>(K, a.nrows - i * K);
  NodeId least = 0;
  for (EdgeOffset t = a.tile_row_ptr[i]; t < a.tile_row_ptr[i + 1]; ++t) {
    const NodeId column = a.tile_col_ind[t];
    if (column < least || column >= tile_cols) return "tile columns are not increasing and inside the matrix";
    least = column + 1;
    const std::size_t width = std::min<std::size_t>(K, a.ncols - std::size_t{column} * K);
    const std::uint64_t inside = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    std::uint64_t any = 0;
    for (std::size_t r = 0; r < K; ++r) {
      const std::uint64_t bits = a.tile_row(t, static_cast<int>(r));
      if (bits != 0 && (r >= rows || (bits & ~inside) != 0)) return "a bit outside the matrix is set";
      any |= bits;
      nvals += static_cast<EdgeOffset>(std::popcount(bits));
    }
    if (any == 0) return "a tile is empty";
  }
  return nullptr;
}

}  // namespace

BitTileMatrix::BitTileMatrix() : tile_row_ptr_(1, EdgeOffset{0}) {}

BitTileMatrix::BitTileMatrix(NodeId nrows, NodeId ncols, int tile_dim, Buffer<EdgeOffset> tile_row_ptr,
                             Buffer<NodeId> tile_col_ind, Buffer<std::byte> bit_tiles, EdgeOffset nvals)
    : BitTileMatrix(nrows, ncols, tile_dim, std::move(tile_row_ptr), std::move(tile_col_ind), std::move(bit_tiles),
                    nvals, trusted) {
  if (device().is_host()) validate();
}

BitTileMatrix::BitTileMatrix(NodeId nrows, NodeId ncols, int tile_dim, Buffer<EdgeOffset> tile_row_ptr,
                             Buffer<NodeId> tile_col_ind, Buffer<std::byte> bit_tiles, EdgeOffset nvals, Trusted)
    : nrows_(nrows),
      ncols_(ncols),
      tile_dim_(tile_dim),
      nvals_(nvals),
      tile_row_ptr_(std::move(tile_row_ptr)),
      tile_col_ind_(std::move(tile_col_ind)),
      bit_tiles_(std::move(bit_tiles)) {
  require(is_tile_dim(tile_dim), "the tile side must be 4, 8, 16, 32 or 64");
  if (tile_row_ptr_.size() != std::size_t{tile_count(nrows, tile_dim)} + 1 ||
      bit_tiles_.size() != tile_col_ind_.size() * tile_bytes(tile_dim)) {
    fail(ErrorCode::usage, fmt::format("B2SR-{}: {} row pointers, {} tiles and {} bytes of bits do not fit {} rows",
                                       tile_dim, tile_row_ptr_.size(), tile_col_ind_.size(), bit_tiles_.size(), nrows));
  }
  require_same_stream("B2SR", "tile_row_ptr", tile_row_ptr_.device(), "tile_col_ind", device());
  require_same_stream("B2SR", "bit_tiles", bit_tiles_.device(), "tile_col_ind", device());
}

void BitTileMatrix::validate() const {
  require_on_host("checking a tile matrix", device());
  const auto bad = [&](std::size_t i, const char* what) {
    fail(ErrorCode::bad_input, fmt::format("B2SR-{}: tile row {}: {}", tile_dim_, i, what));
  };
  if (tile_row_ptr_[0] != 0) bad(0, "tile_row_ptr does not start at 0");
  for (std::size_t i = 0; i < num_tile_rows(); ++i) {
    if (tile_row_ptr_[i] > tile_row_ptr_[i + 1]) bad(i, "tile_row_ptr falls");
  }
  if (tile_row_ptr_[num_tile_rows()] != num_tiles())
    bad(num_tile_rows(), "tile_row_ptr does not end at the number of tiles");
  std::atomic<EdgeOffset> total{0};
  with_tile_dim(tile_dim_, [&](auto k) {
    const auto a = view<k()>();
    parallel_chunks(device(), a.num_tile_rows, chunk_of(tile_dim_), [&](Range range) {
      EdgeOffset found = 0;
      for (std::size_t i = range.begin; i < range.end; ++i) {
        if (const char* fault = tile_row_fault(a, i, found)) bad(i, fault);
      }
      total += found;
    });
  });
  if (total != nvals_) {
    fail(ErrorCode::bad_input, fmt::format("B2SR-{}: {} bits are set, expected {}", tile_dim_, total.load(), nvals_));
  }
}

BitTileMatrix BitTileMatrix::clone() const { return to(device()); }

BitTileMatrix BitTileMatrix::to(const Device& device) const {
  return {nrows_, ncols_, tile_dim_, tile_row_ptr_.to(device), tile_col_ind_.to(device), bit_tiles_.to(device),
          nvals_, trusted};
}

BitTileMatrix BitTileMatrix::share(const Device& device) const {
  return {nrows_, ncols_, tile_dim_, tile_row_ptr_.share(device), tile_col_ind_.share(device), bit_tiles_.share(device),
          nvals_, trusted};
}

bool operator==(const BitTileMatrix& a, const BitTileMatrix& b) {
  require_on_host("comparing tile matrices", a.device());
  require_on_host("comparing tile matrices", b.device());
  return a.nrows_ == b.nrows_ && a.ncols_ == b.ncols_ && a.tile_dim_ == b.tile_dim_ && a.nvals_ == b.nvals_ &&
         std::ranges::equal(a.tile_row_ptr(), b.tile_row_ptr()) &&
         std::ranges::equal(a.tile_col_ind(), b.tile_col_ind()) && std::ranges::equal(a.bit_tiles(), b.bit_tiles());
}

BitTileMatrix pack(const CsrPattern& a, const PackOptions& options, const Device& device) {
  a.device().throw_if_stopped();
  device.throw_if_stopped();
  if (!a.device().is_host()) {
    BitTileMatrix there = with_cuda<BitTileMatrix>(
        a.device(), "pack", [&](const auto& cuda) { return cuda_formats::pack(cuda, a, options.tile_dim); });
    return device.is_host() || device == a.device() ? std::move(there) : there.to(device);
  }
  if (!device.is_host())
    return with_cuda<BitTileMatrix>(
        device, "pack", [&](const auto& cuda) { return cuda_formats::pack(cuda, a.to(device), options.tile_dim); });
  return with_tile_dim(options.tile_dim, [&](auto k) { return pack_tiles<k()>(a, device); });
}

CsrPattern unpack(const BitTileMatrix& a) {
  if (!a.device().is_host())
    return with_cuda<CsrPattern>(a.device(), "unpack", [&](const auto& cuda) { return cuda_formats::unpack(cuda, a); });
  return with_tile_dim(a.tile_dim(), [&](auto k) { return unpack_tiles<k()>(a); });
}

BitTileMatrix transpose(const BitTileMatrix& a) {
  if (!a.device().is_host())
    return with_cuda<BitTileMatrix>(a.device(), "transpose",
                                    [&](const auto& cuda) { return cuda_formats::transpose(cuda, a); });
  return with_tile_dim(a.tile_dim(), [&](auto k) { return transpose_tiles<k()>(a); });
}

std::size_t b2sr_bytes(NodeId nrows, EdgeOffset num_tiles, int tile_dim) noexcept {
  return 8 * (std::size_t{tile_count(nrows, tile_dim)} + 1) + num_tiles * (4 + tile_bytes(tile_dim));
}

}  // namespace bitgraph
