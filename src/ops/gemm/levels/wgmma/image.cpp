// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/levels/wgmma/image.hpp"

#include "formats/levels/level_rows.hpp"

namespace bitgraph::level_image {

namespace {

constexpr std::size_t row_bytes = 128, piece_bytes = 16, row_pieces = row_bytes / piece_bytes;

/// Blocks of a row: as many as chunks of 128 bytes of X meet, and of those that two chunks meet whole ones.
std::size_t blocks(Order order, std::size_t ncols) noexcept {
  const std::size_t unit = order == Order::nibbles ? 2 : 1, columns = unit * block_columns(order);
  return (ncols + columns - 1) / columns * unit;
}

/// Where byte `at` of a row of a block lies, from the block's first byte on.
std::size_t place(std::size_t row, std::size_t at) noexcept {
  const std::size_t piece = at / piece_bytes;
  return row * row_bytes + (piece ^ (row % row_pieces)) * piece_bytes + at % piece_bytes;
}

/// Of a column of bytes, the byte of its block's row.
std::size_t byte_of_column(Order order, std::size_t column) noexcept {
  if (order == Order::bytes) return column;
  constexpr std::size_t step = 32;
  return column / step * step + column % 2 * (step / 2) + column % step / 2;
}

/// Of a column of packed planes, its bit in the first plane of its 256 columns: a lane has 64 columns, the first half
/// of them in the lower 128 bits.
std::size_t bit_of_packed_column(std::size_t column) noexcept {
  return column % 64 / 32 * 128 + column / 64 * 32 + column % 32;
}

/// Of a column of planes, its bit in the first plane of its 256 columns: a lane makes a word of four words of nibbles,
/// each 32 columns behind the one before, and takes the first and the third as even bits.
std::size_t bit_of_column(std::size_t column) noexcept {
  constexpr std::size_t half = 128, words = 32, nibbles = 8;
  const std::size_t of_word = column % half / words;
  const std::size_t bit = column % nibbles * 4 + of_word % 2 * 2 + of_word / 2;
  return column / half * half + column % words / nibbles * words + bit;
}

}  // namespace

std::size_t bytes(Order order, std::size_t nrows, std::size_t ncols) noexcept {
  return order == Order::none ? 0 : blocks(order, ncols) * rows(nrows) * row_bytes;
}

Buffer<std::uint8_t> make(const QuantizedMatrix& w, Order order) {
  Buffer<std::uint8_t> image(bytes(order, w.nrows(), w.ncols()), std::uint8_t{0});
  if (order == Order::none) return image;
  constexpr std::size_t plane_columns = 256, plane_bytes = plane_columns / 8, most_planes = 2;
  const std::size_t block_bytes = rows(w.nrows()) * row_bytes, columns = block_columns(order);
  for (std::size_t f = 0; f < rows(w.nrows()); ++f) {
    const std::size_t output = order == Order::packed_to_planes ? output_of_row(f) : f;
    for (std::size_t c = 0; c < w.ncols() && output < w.nrows(); ++c) {
      const std::uint32_t level = level_at(w.view().row(output), c, w.bits());
      std::uint8_t* const block = image.data() + c / columns * block_bytes;
      const std::size_t own = c % columns;
      if (!has_planes(order)) {
        block[place(f, byte_of_column(order, own))] = static_cast<std::uint8_t>(level);
        continue;
      }
      const std::size_t of_plane = own % plane_columns;
      const std::size_t bit = is_packed(order) ? bit_of_packed_column(of_plane) : bit_of_column(of_plane);
      for (std::size_t plane = 0; plane < most_planes; ++plane) {
        const std::size_t at = (own / plane_columns * most_planes + plane) * plane_bytes + bit / 8;
        block[place(f, at)] |= static_cast<std::uint8_t>((level >> plane & 1U) << bit % 8);
      }
    }
  }
  return image;
}

}  // namespace bitgraph::level_image
