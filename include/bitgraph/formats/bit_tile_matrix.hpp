// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/views.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace bitgraph {

/// The tile sides that exist.
inline constexpr std::array<int, 5> tile_dims{4, 8, 16, 32, 64};

[[nodiscard]] constexpr bool is_tile_dim(int k) noexcept { return k == 4 || k == 8 || k == 16 || k == 32 || k == 64; }

/// B2SR (Bit-GraphBLAS, section III): CSR over the non-empty k x k tiles of a sparse 0/1 matrix, plus their bits.
///
/// The k * k bits of a tile are stored row by row, least significant bit first: bit (r, c) is bit r * k + c of the
/// tile's k * k / 8 bytes, read as one little-endian number. A 4 x 4 tile is 16 bits. Tiles of a tile row are in
/// increasing order of column; none is empty; bits outside the matrix (in the last tile row or column) are zero.
class BitTileMatrix {
 public:
  /// 0 x 0, side 8.
  BitTileMatrix();

  /// Takes the arrays. Throws usage where tile_dim, their sizes or their devices do not fit; on the host bad_input
  /// where they break an invariant: see validate(). O(bytes). Arrays on a CUDA device are trusted.
  BitTileMatrix(NodeId nrows, NodeId ncols, int tile_dim, Buffer<EdgeOffset> tile_row_ptr, Buffer<NodeId> tile_col_ind,
                Buffer<std::byte> bit_tiles, EdgeOffset nvals);

  /// The same without looking at the arrays. O(1).
  BitTileMatrix(NodeId nrows, NodeId ncols, int tile_dim, Buffer<EdgeOffset> tile_row_ptr, Buffer<NodeId> tile_col_ind,
                Buffer<std::byte> bit_tiles, EdgeOffset nvals, Trusted);

  /// Checks every invariant, in parallel, O(bytes). Throws bad_input naming the tile row, usage where the arrays are
  /// not on the host.
  void validate() const;

  [[nodiscard]] NodeId nrows() const noexcept { return nrows_; }
  [[nodiscard]] NodeId ncols() const noexcept { return ncols_; }
  [[nodiscard]] int tile_dim() const noexcept { return tile_dim_; }
  [[nodiscard]] EdgeOffset nvals() const noexcept { return nvals_; }
  [[nodiscard]] EdgeOffset num_tiles() const noexcept { return tile_col_ind_.size(); }
  [[nodiscard]] NodeId num_tile_rows() const noexcept { return static_cast<NodeId>(tile_row_ptr_.size() - 1); }
  [[nodiscard]] std::span<const EdgeOffset> tile_row_ptr() const noexcept { return tile_row_ptr_.span(); }
  [[nodiscard]] std::span<const NodeId> tile_col_ind() const noexcept { return tile_col_ind_.span(); }
  [[nodiscard]] std::span<const std::byte> bit_tiles() const noexcept { return bit_tiles_.span(); }
  [[nodiscard]] const Device& device() const noexcept { return tile_col_ind_.device(); }

  /// Exact size of the arrays: 8 (num_tile_rows + 1) + num_tiles (4 + k k / 8).
  [[nodiscard]] std::size_t bytes() const noexcept {
    return tile_row_ptr_.bytes() + tile_col_ind_.bytes() + bit_tiles_.bytes();
  }

  /// The view for kernels. Throws usage unless tile_dim() is K.
  template <int K>
  [[nodiscard]] BitTileView<K> view() const {
    require(tile_dim_ == K, "the view's tile side differs from the matrix's");
    return {nrows_,
            ncols_,
            num_tile_rows(),
            tile_row_ptr_.data(),
            tile_col_ind_.data(),
            reinterpret_cast<const TileWord<K>*>(bit_tiles_.data())};
  }

  [[nodiscard]] BitTileMatrix clone() const;
  [[nodiscard]] BitTileMatrix to(const Device& device) const;  ///< a copy on `device`

  /// The same storage, not copied, under a handle of the same place: see Buffer::share.
  [[nodiscard]] BitTileMatrix share(const Device& device) const;
  [[nodiscard]] BitTileMatrix share() const { return share(device()); }

  /// Throws usage where a matrix is not on the host.
  friend bool operator==(const BitTileMatrix& a, const BitTileMatrix& b);

 private:
  NodeId nrows_ = 0;
  NodeId ncols_ = 0;
  int tile_dim_ = 8;
  EdgeOffset nvals_ = 0;
  Buffer<EdgeOffset> tile_row_ptr_;
  Buffer<NodeId> tile_col_ind_;
  Buffer<std::byte> bit_tiles_;
};

/// Calls fn(std::integral_constant<int, K>{}) for the run-time side: the one place where it becomes a template
/// argument.
template <class Fn>
decltype(auto) with_tile_dim(int tile_dim, Fn&& fn) {
  switch (tile_dim) {
    case 4: return fn(std::integral_constant<int, 4>{});
    case 8: return fn(std::integral_constant<int, 8>{});
    case 16: return fn(std::integral_constant<int, 16>{});
    case 32: return fn(std::integral_constant<int, 32>{});
    case 64: return fn(std::integral_constant<int, 64>{});
    default: fail(ErrorCode::usage, "the tile side must be 4, 8, 16, 32 or 64");
  }
}

struct PackOptions {
  int tile_dim = 8;
};

/// Pattern CSR to B2SR, in parallel; on a CUDA device where the pattern or `device` is. Peak memory: input, output and
/// a quarter of the output (there: a thirtieth of the input) more. Throws usage for a tile side that does not exist.
[[nodiscard]] BitTileMatrix pack(const CsrPattern& a, const PackOptions& options = {}, const Device& device = {});

/// B2SR to pattern CSR; the inverse of pack.
[[nodiscard]] CsrPattern unpack(const BitTileMatrix& a);

/// A^T, tile by tile, without going through CSR.
[[nodiscard]] BitTileMatrix transpose(const BitTileMatrix& a);

/// Non-empty tiles that `a` would have at tile side k: the exact count, O(nvals), parallel.
[[nodiscard]] EdgeOffset count_tiles(const CsrPattern& a, int tile_dim);

/// The same for every side of tile_dims, in one walk over the entries.
[[nodiscard]] std::array<EdgeOffset, tile_dims.size()> count_tiles_all(const CsrPattern& a);

/// Bytes of a B2SR with that many tiles; what BitTileMatrix::bytes() will say.
[[nodiscard]] std::size_t b2sr_bytes(NodeId nrows, EdgeOffset num_tiles, int tile_dim) noexcept;

}  // namespace bitgraph
