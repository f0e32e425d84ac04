// SPDX-License-Identifier: Apache-2.0
// How levels are stored, as kernels see it. Kernels include this header instead of those of the formats, which include
// it, too.
#pragma once

#include <bitgraph/core/types.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// The part of a matrix that one scale belongs to, and one offset where there are offsets.
enum class ScaleExtent : std::uint8_t { none, tensor, row, column };

/// How a value between two levels becomes one of them.
enum class Rounding : std::uint8_t {
  nearest,  ///< ties to even; step = (greatest - least) / (2^bits - 1)
  floor     ///< QGTC, Equation 2; step = (greatest - least) / 2^bits, so a level stands for the values above it
};

/// How the levels of a row are packed.
enum class LevelPacking : std::uint8_t {
  places,  ///< one after the other, in a nibble, a byte or 16 bits each
  /// Of 2 bits: of each 64 columns a word of the lower bits, and one of the upper bits. Products and sums hand levels
  /// to each other so: half of the bytes of nibbles, and sums add bits of many columns side by side.
  planes
};

/// Columns of a row in planes that share a pair of words, and the bytes of the pair.
inline constexpr std::size_t plane_piece_columns = 64, plane_piece_bytes = 16;

/// Bits of the places in which levels of so many bits are stored: 4, 8 or 16.
[[nodiscard]] constexpr int level_place_bits(int bits) noexcept { return bits <= 4 ? 4 : bits <= 8 ? 8 : 16; }

/// Bytes of a row of `ncols` levels: whole words of 64 bits, of planes whole pairs of them.
[[nodiscard]] constexpr std::size_t level_row_bytes(std::size_t ncols, int bits,
                                                    LevelPacking packing = LevelPacking::places) noexcept {
  if (packing == LevelPacking::planes) return words_for_bits(ncols) * plane_piece_bytes;
  const auto a_word = static_cast<std::size_t>(64 / level_place_bits(bits));
  return (ncols / a_word + (ncols % a_word == 0 ? 0 : 1)) * sizeof(std::uint64_t);
}

/// What a kernel sees of the levels of a QuantizedMatrix: row i starts at data + i * row_bytes.
template <class Byte = const std::uint8_t>
struct QuantizedView {
  std::size_t nrows = 0;
  std::size_t ncols = 0;
  std::size_t row_bytes = 0;
  int bits = 0;
  Byte* data = nullptr;
  LevelPacking packing = LevelPacking::places;

  [[nodiscard]] constexpr Byte* row(std::size_t i) const noexcept { return data + i * row_bytes; }
  [[nodiscard]] constexpr bool in_planes() const noexcept { return packing == LevelPacking::planes; }
};

/// What a kernel sees of BitPlanes.
template <class Word = const std::uint64_t>
struct BitPlanesView {
  std::size_t nrows = 0;
  std::size_t ncols = 0;
  int bits = 0;
  Word* words = nullptr;

  /// Packed by columns: rows of a slab, words that they take of a column, and columns of an octet. The matrix
  /// instructions for bits take 16 bytes of eight columns at a time.
  static constexpr std::size_t slab_rows = 128, slab_words = slab_rows / 64;
  static constexpr std::size_t octet_columns = 8;

  [[nodiscard]] constexpr std::size_t num_slabs() const noexcept {
    return nrows / slab_rows + (nrows % slab_rows == 0 ? 0 : 1);
  }
  [[nodiscard]] constexpr std::size_t num_octets() const noexcept {
    return ncols / octet_columns + (ncols % octet_columns == 0 ? 0 : 1);
  }
  /// Words of an octet's columns in all planes.
  [[nodiscard]] constexpr std::size_t octet_words() const noexcept {
    return static_cast<std::size_t>(bits) * octet_columns * slab_words;
  }
  /// Packed by rows: the words of row i in plane p.
  [[nodiscard]] constexpr Word* row(std::size_t i, int p) const noexcept {
    return words + (i * static_cast<std::size_t>(bits) + static_cast<std::size_t>(p)) * words_for_bits(ncols);
  }
  /// Packed by columns: octet o of slab s. It has its planes one after the other, each of two words a column.
  [[nodiscard]] constexpr Word* octet(std::size_t s, std::size_t o) const noexcept {
    return words + (s * num_octets() + o) * octet_words();
  }
  /// The two words of column j, of the rows of slab s, in plane p.
  [[nodiscard]] constexpr Word* column(std::size_t s, int p, std::size_t j) const noexcept {
    return octet(s, j / octet_columns) + (static_cast<std::size_t>(p) * octet_columns + j % octet_columns) * slab_words;
  }
};

}  // namespace bitgraph
