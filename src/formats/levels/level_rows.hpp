// SPDX-License-Identifier: Apache-2.0
// One row of levels, as QuantizedMatrix stores them.
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/number_format.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bitgraph {

/// Level j of a row in places.
[[nodiscard]] inline std::uint32_t level_at(const std::uint8_t* row, std::size_t j, int bits) noexcept {
  switch (level_place_bits(bits)) {
    case 4: return (row[j / 2] >> (4 * (j % 2))) & 0xFU;
    case 8: return row[j];
    default: return row[2 * j] | static_cast<std::uint32_t>(row[2 * j + 1]) << 8;
  }
}

inline void put_level(std::uint8_t* row, std::size_t j, int bits, std::uint32_t level) noexcept {
  const auto shift = static_cast<unsigned>(4 * (j % 2));
  switch (level_place_bits(bits)) {
    case 4: row[j / 2] = static_cast<std::uint8_t>((row[j / 2] & ~(0xFU << shift)) | level << shift); return;
    case 8: row[j] = static_cast<std::uint8_t>(level); return;
    default: row[2 * j] = static_cast<std::uint8_t>(level); row[2 * j + 1] = static_cast<std::uint8_t>(level >> 8);
  }
}

/// Of a row in planes, the byte that has the lower bit of level j. That of the upper bit is `plane_word_bytes` behind.
inline constexpr std::size_t plane_word_bytes = plane_piece_bytes / 2;
[[nodiscard]] constexpr std::size_t plane_byte_of(std::size_t j) noexcept {
  return j / plane_piece_columns * plane_piece_bytes + j % plane_piece_columns / 8;
}

/// The same of rows in planes.
[[nodiscard]] inline std::uint32_t plane_level_at(const std::uint8_t* row, std::size_t j) noexcept {
  const std::uint8_t* const lower = row + plane_byte_of(j);
  return (lower[0] >> j % 8 & 1U) | (lower[plane_word_bytes] >> j % 8 & 1U) << 1;
}
inline void put_plane_level(std::uint8_t* row, std::size_t j, std::uint32_t level) noexcept {
  std::uint8_t* const lower = row + plane_byte_of(j);
  const auto put = [&](std::uint8_t& byte, std::uint32_t bit) {
    byte = static_cast<std::uint8_t>((byte & ~(1U << j % 8)) | bit << j % 8);
  };
  put(lower[0], level & 1U);
  put(lower[plane_word_bytes], level >> 1);
}

/// Bits 0, 4, 8 and so on of a word, side by side.
[[nodiscard]] constexpr std::uint64_t every_fourth_bit(std::uint64_t word) noexcept {
  word &= 0x1111111111111111U;
  word = (word | word >> 3) & 0x0303030303030303U;
  word = (word | word >> 6) & 0x000F000F000F000FU;
  word = (word | word >> 12) & 0x000000FF000000FFU;
  return (word | word >> 24) & 0xFFFFU;
}

/// A row of levels of 2 bits in nibbles, in planes.
inline void planes_of_nibbles(std::span<const std::uint8_t> nibbles, std::span<std::uint8_t> planes) noexcept {
  constexpr std::size_t word_bytes = sizeof(std::uint64_t), word_levels = 16;
  constexpr std::size_t words = plane_piece_columns / word_levels;  // of nibbles, of a piece
  for (std::size_t piece = 0; piece < planes.size() / plane_piece_bytes; ++piece) {
    std::uint64_t lower = 0, upper = 0;
    for (std::size_t w = 0; w < words; ++w) {
      const std::size_t at = (piece * words + w) * word_bytes;
      if (at + word_bytes > nibbles.size()) break;
      std::uint64_t word = 0;
      std::memcpy(&word, nibbles.data() + at, word_bytes);
      lower |= every_fourth_bit(word) << (word_levels * w);
      upper |= every_fourth_bit(word >> 1) << (word_levels * w);
    }
    std::uint8_t* const to = planes.data() + piece * plane_piece_bytes;
    std::memcpy(to, &lower, plane_word_bytes);
    std::memcpy(to + plane_word_bytes, &upper, plane_word_bytes);
  }
}

/// Row i, however it is packed.
template <class Byte>
[[nodiscard]] std::uint32_t level_at(const QuantizedView<Byte>& x, std::size_t i, std::size_t j) noexcept {
  return x.in_planes() ? plane_level_at(x.row(i), j) : level_at(x.row(i), j, x.bits);
}
inline void put_level(const QuantizedView<std::uint8_t>& x, std::size_t i, std::size_t j,
                      std::uint32_t level) noexcept {
  x.in_planes() ? put_plane_level(x.row(i), j, level) : put_level(x.row(i), j, x.bits, level);
}
template <class Byte>
void unpack_levels(const QuantizedView<Byte>& x, std::size_t i, std::span<std::uint32_t> levels) noexcept {
  for (std::size_t j = 0; j < levels.size(); ++j) levels[j] = level_at(x, i, j);
}

/// The level of the value 0, as quantize() makes it.
[[nodiscard]] inline std::uint32_t zero_level(float step, float offset, int bits) noexcept {
  const float place = (0.0F - offset) / step;
  const float within = std::clamp(place, 0.0F, static_cast<float>((1U << bits) - 1));
  return static_cast<std::uint32_t>(std::nearbyint(within));
}

/// A whole row in places, with zeros behind the last level.
inline void pack_levels(std::span<const std::uint32_t> levels, int bits, std::span<std::uint8_t> row) noexcept {
  std::fill(row.begin(), row.end(), std::uint8_t{0});
  for (std::size_t j = 0; j < levels.size(); ++j) put_level(row.data(), j, bits, levels[j]);
}

/// Throws bad_input, naming the place, for a number above 2^bits - 1.
void require_levels(const DenseMatrix<std::uint32_t>& levels, int bits);

}  // namespace bitgraph
