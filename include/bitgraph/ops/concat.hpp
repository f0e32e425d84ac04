// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/level_view.hpp>

#include <array>
#include <cstddef>
#include <span>

namespace bitgraph {

class QuantizedMatrix;  // see bitgraph/formats/quantized_matrix.hpp

/// The most matrices that one call of concat takes.
inline constexpr std::size_t most_concat_parts = 64;

/// Whether rows of so many levels end where a word of 64 bits does, so that others may stand behind them.
[[nodiscard]] constexpr bool levels_fill_words(std::size_t ncols, int bits,
                                               LevelPacking packing = LevelPacking::places) noexcept {
  const std::size_t bits_a_level = packing == LevelPacking::planes ? plane_piece_bytes * 8 / plane_piece_columns
                                                                   : static_cast<std::size_t>(level_place_bits(bits));
  return level_row_bytes(ncols, bits, packing) * 8 == ncols * bits_a_level;
}

/// out = [parts[0] | parts[1] | ...], columns side by side: CONCAT of BitGNN (section 3.1.2, Figure 2), the layers of a
/// network ahead of its last one (SAINT). X is BitMatrix<PlusMinusOne>, DenseMatrix<float> or QuantizedMatrix; widths
/// need be no multiple of anything, but levels, those of the last part aside, must fill words: levels_fill_words().
/// Levels are taken to be on the scale that the output has. Throws usage naming the shapes, levels or devices that do
/// not fit, for an output that is one of the parts, and for no parts or more than most_concat_parts. O(nrows ncols), or
/// O(nrows ncols / 64) for bits; allocates nothing.
template <class X>
void concat_into(X& out, std::span<const X* const> parts);
template <>
void concat_into(QuantizedMatrix& out, std::span<const QuantizedMatrix* const> parts);

/// The same of two.
template <class X>
void concat_into(X& out, const X& a, const X& b) {
  const std::array<const X*, 2> parts{&a, &b};
  concat_into(out, std::span<const X* const>(parts));
}

/// The same with a new output.
template <class X>
[[nodiscard]] X concat(std::span<const X* const> parts) {
  std::size_t ncols = 0;
  for (const X* part : parts) ncols += part->ncols();
  X out = parts.empty() ? X() : X(parts.front()->nrows(), ncols, parts.front()->device());
  concat_into(out, parts);
  return out;
}
template <class X>
[[nodiscard]] X concat(const X& a, const X& b) {
  const std::array<const X*, 2> parts{&a, &b};
  return concat(std::span<const X* const>(parts));
}

}  // namespace bitgraph
