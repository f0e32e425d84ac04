// SPDX-License-Identifier: Apache-2.0
// What kernels see of the formats: pointers and sizes, without the buffers that own the memory. Kernels include this
// header instead of those of the formats, which include it, too.
#pragma once

#include <bitgraph/core/types.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace bitgraph {

/// Rows and entries of a chunk on a CUDA device.
inline constexpr EdgeOffset csr_chunk_items = 512;

/// What a kernel sees of a CsrPattern.
struct CsrPatternView {
  NodeId nrows = 0;
  NodeId ncols = 0;
  const EdgeOffset* row_ptr = nullptr;  ///< nrows + 1 positions in col_ind
  const NodeId* col_ind = nullptr;
  /// On a CUDA device: how rows and entries, taken together, are cut into equal chunks. A chunk begins at row
  /// chunk_row[c], at the entry c csr_chunk_items - chunk_row[c]. num_chunks + 1 of them.
  const NodeId* chunk_row = nullptr;
  NodeId num_chunks = 0;
  EdgeOffset num_entries = 0;  ///< what nvals() is on the host
  EdgeOffset longest_row = 0;  ///< entries of the longest row; on a CUDA device only

  [[nodiscard]] EdgeOffset nvals() const noexcept { return row_ptr == nullptr ? 0 : row_ptr[nrows]; }
  [[nodiscard]] std::span<const NodeId> row(NodeId i) const noexcept {
    return {col_ind + row_ptr[i], static_cast<std::size_t>(row_ptr[i + 1] - row_ptr[i])};
  }
};

/// What a kernel sees of a DenseMatrix: row i starts at data + i * stride.
template <class T>
struct DenseView {
  std::size_t nrows = 0;
  std::size_t ncols = 0;
  std::size_t stride = 0;
  T* data = nullptr;

  [[nodiscard]] T* row(std::size_t i) const noexcept { return data + i * stride; }
  [[nodiscard]] T& operator()(std::size_t i, std::size_t j) const noexcept { return data[i * stride + j]; }
};

/// A stored bit b means b: connectivity, a frontier, a mask.
struct ZeroOne {
  static constexpr float value(bool bit) noexcept { return bit ? 1.0F : 0.0F; }
};

/// A stored bit b means 2b - 1: a binary activation or weight.
struct PlusMinusOne {
  static constexpr float value(bool bit) noexcept { return bit ? 1.0F : -1.0F; }
};

template <class D>
concept BitDomain = std::same_as<D, ZeroOne> || std::same_as<D, PlusMinusOne>;

/// What a kernel sees of a BitMatrix: row i starts at words + i * words_per_row.
template <BitDomain Domain, class Word = const std::uint64_t>
struct BitMatrixView {
  std::size_t nrows = 0;
  std::size_t ncols = 0;
  std::size_t words_per_row = 0;
  Word* words = nullptr;

  [[nodiscard]] Word* row(std::size_t i) const noexcept { return words + i * words_per_row; }
  [[nodiscard]] bool bit(std::size_t i, std::size_t j) const noexcept {
    return ((row(i)[j / 64] >> (j % 64)) & 1U) != 0;
  }
};

/// What a kernel sees of a BitVector.
template <class Word = const std::uint64_t>
struct BitVectorView {
  std::size_t size = 0;
  Word* words = nullptr;

  [[nodiscard]] constexpr bool bit(std::size_t i) const noexcept { return ((words[i / 64] >> (i % 64)) & 1U) != 0; }
};

/// Bytes of the bits of one k x k tile: k * k / 8.
[[nodiscard]] constexpr std::size_t tile_bytes(int k) noexcept {
  return static_cast<std::size_t>(k) * static_cast<std::size_t>(k) / 8;
}

/// The storage word of a tile of side K: one row of it, but for K = 4, where one 16-bit word is the whole tile.
template <int K>
using TileWord = std::conditional_t<
    K == 4 || K == 16, std::uint16_t,
    std::conditional_t<K == 8, std::uint8_t, std::conditional_t<K == 32, std::uint32_t, std::uint64_t>>>;

/// Storage words of a tile of side K.
template <int K>
inline constexpr int tile_words = K == 4 ? 1 : K;

/// What a kernel sees of a BitTileMatrix of side K.
template <int K>
struct BitTileView {
  NodeId nrows = 0;
  NodeId ncols = 0;
  NodeId num_tile_rows = 0;
  const EdgeOffset* tile_row_ptr = nullptr;  ///< num_tile_rows + 1 positions in tile_col_ind
  const NodeId* tile_col_ind = nullptr;
  const TileWord<K>* bit_tiles = nullptr;  ///< tile_words<K> words a tile

  /// Row r of tile t; bit c of it (least significant first) is column c.
  [[nodiscard]] constexpr std::uint64_t tile_row(EdgeOffset t, int r) const noexcept {
    if constexpr (K == 4) {
      return (static_cast<unsigned>(bit_tiles[t]) >> (4 * r)) & 0xFU;
    } else {
      return bit_tiles[t * K + static_cast<EdgeOffset>(r)];
    }
  }
};

/// What a kernel sees of a SellPattern. Of column indices and those of long rows there is one array each: of 32 bits,
/// or of 16 bits that count from the strip's first column. The other pointers are null.
struct SellView {
  static constexpr std::size_t lanes = 8;  ///< rows side by side in a chunk

  NodeId nrows = 0;
  NodeId ncols = 0;
  std::size_t num_windows = 0;
  std::size_t window_rows = 1;  ///< the last window may have fewer
  std::size_t num_strips = 1;
  std::size_t strip_columns = 0;  ///< strip s begins at column s * strip_columns
  std::size_t num_chunks = 0;
  const NodeId* rows = nullptr;           ///< lanes a chunk: which row is there; nrows where there is none
  const NodeId* degrees = nullptr;        ///< lanes a chunk: its entries in the strip; never rising within a chunk
  const EdgeOffset* chunk_ptr = nullptr;  ///< num_chunks + 1 positions in col_ind
  const NodeId* col_ind = nullptr;        ///< entry e of lane r of chunk c at chunk_ptr[c] + lanes * e + r
  const std::uint16_t* short_col_ind = nullptr;
  std::size_t num_long_rows = 0;
  const NodeId* long_rows = nullptr;
  const EdgeOffset* long_ptr = nullptr;  ///< num_long_rows + 1 positions in long_col_ind
  const NodeId* long_col_ind = nullptr;
  const std::uint16_t* short_long_col_ind = nullptr;
  /// Of window w and strip s: chunks section_chunks[w * num_strips + s] up to that of the next section, and so with
  /// long rows. One more than there are sections.
  const std::size_t* section_chunks = nullptr;
  const std::size_t* section_long_rows = nullptr;
  const NodeId* row_degrees = nullptr;  ///< nrows, where there are several strips
  unsigned counter_bits = 0;            ///< enough for the longest row's degree
};

/// A row and where its entries are.
struct alignas(16) RowPlace {
  EdgeOffset begin;
  NodeId row;
  NodeId entries;
};

/// What a kernel sees of a RowOrder.
struct RowOrderView {
  const NodeId* row = nullptr;           ///< from the longest to the shortest; null where there is no order
  const RowPlace* place = nullptr;       ///< the same rows; null where that is not known
  std::array<NodeId, 15> at_least = {};  ///< at_least[p]: how many rows have 2^p entries or more
};

}  // namespace bitgraph
