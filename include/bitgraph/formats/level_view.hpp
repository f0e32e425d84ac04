// SPDX-License-Identifier: Apache-2.0
// How levels are stored, as kernels see it. Kernels include this header instead of those of the formats, which include
// it, too.
#pragma once

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

/// Bits of the places in which levels of so many bits are stored: 4, 8 or 16.
[[nodiscard]] constexpr int level_place_bits(int bits) noexcept { return bits <= 4 ? 4 : bits <= 8 ? 8 : 16; }

/// Bytes of a row of `ncols` levels: whole words of 64 bits.
[[nodiscard]] constexpr std::size_t level_row_bytes(std::size_t ncols, int bits) noexcept {
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

  [[nodiscard]] constexpr Byte* row(std::size_t i) const noexcept { return data + i * row_bytes; }
};

}  // namespace bitgraph
