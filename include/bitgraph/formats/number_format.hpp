// SPDX-License-Identifier: Apache-2.0
// How a number is stored, described once. Operators' operand types, a layer's precision, model files, predictions of
// memory and the tuner all speak of numbers by a NumberFormat.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/bfloat16.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/level_view.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace bitgraph {

/// What the stored bits of one number, its level, mean.
enum class NumberKind : std::uint8_t {
  float32,   ///< IEEE single precision
  bfloat16,  ///< the upper half of a float32
  sign,      ///< one bit: -1 or +1
  zero_one,  ///< one bit: 0 or 1
  int8,      ///< -128 .. 127
  int32,     ///< a sum of products of levels
  planes,    ///< 0 .. 2^bits - 1, 1 to 32 bits, one bit matrix for each binary digit (QGTC, section 4.2)
  levels     ///< 0 .. 2^bits - 1, 1 to 16 bits, in nibbles, bytes or 16 bits
};

/// How the numbers of a matrix are stored: value = step * level + offset. Without a scale the step is 1.
struct NumberFormat {
  NumberKind kind = NumberKind::float32;
  int bits = 32;  ///< of one level; as the kind says
  ScaleExtent scale = ScaleExtent::none;
  bool offset = false;  ///< one beside each step; not without a scale

  friend constexpr bool operator==(const NumberFormat&, const NumberFormat&) = default;
};

/// What is known of a kind. Adding a kind is a row in src/formats/levels/number_format.cpp, a value in NumberKind, and
/// kernels.
struct NumberTraits {
  NumberKind kind;
  std::string_view name;
  int bits;       ///< of one level; 0: any from 1 to most_bits
  int most_bits;  ///< of one level
  bool whole;     ///< levels are whole numbers

  /// Bytes of the levels of an nrows x ncols matrix at `bits` a level.
  std::size_t (*bytes)(std::size_t nrows, std::size_t ncols, int bits);

  /// The least and the greatest level at `bits`; unused for floats.
  double (*least)(int bits);
  double (*greatest)(int bits);

  /// Stores one row of levels, already divided by their steps, or brings it back. `levels` are those of the whole
  /// matrix, host memory. Whole levels are rounded to nearest, ties to even, and clamped.
  void (*store)(std::span<const float> row, std::size_t i, std::size_t nrows, int bits, std::byte* levels);
  void (*load)(std::span<float> row, std::size_t i, std::size_t nrows, int bits, const std::byte* levels);
};

/// The rows of all kinds, in the order of NumberKind.
[[nodiscard]] std::span<const NumberTraits> number_traits() noexcept;
[[nodiscard]] const NumberTraits& number_traits(NumberKind kind) noexcept;

/// "float32", "sign*row", "planes4*column+offset": the name, the bits where they are free, the scale's extent, the
/// offset.
[[nodiscard]] std::string to_string(const NumberFormat& format);

/// Reads such a text. Throws usage for another one.
[[nodiscard]] NumberFormat number_format_from_string(std::string_view text);

/// Throws usage, naming what is wrong, unless the bits are those of the kind and an offset has a scale.
void require_valid(const NumberFormat& format);

/// Bytes of an nrows x ncols matrix: levels, steps and offsets. Throws usage for a format that is not valid.
[[nodiscard]] std::size_t stored_bytes(const NumberFormat& format, std::size_t nrows, std::size_t ncols);

/// The format of the elements of a matrix type.
template <class Element>
inline constexpr NumberFormat format_of_element = {};
template <>
inline constexpr NumberFormat format_of_element<Bfloat16> = {NumberKind::bfloat16, 16};
template <>
inline constexpr NumberFormat format_of_element<std::int8_t> = {NumberKind::int8, 8};
template <>
inline constexpr NumberFormat format_of_element<std::int32_t> = {NumberKind::int32, 32};
template <>
inline constexpr NumberFormat format_of_element<PlusMinusOne> = {NumberKind::sign, 1};
template <>
inline constexpr NumberFormat format_of_element<ZeroOne> = {NumberKind::zero_one, 1};

template <class T>
[[nodiscard]] constexpr NumberFormat format_of(const DenseMatrix<T>&) noexcept {
  return format_of_element<T>;
}
template <BitDomain Domain>
[[nodiscard]] constexpr NumberFormat format_of(const BitMatrix<Domain>&) noexcept {
  return format_of_element<Domain>;
}

/// The same format with a scale of another extent.
[[nodiscard]] constexpr NumberFormat scaled_by(NumberFormat format, ScaleExtent extent) noexcept {
  format.scale = extent;
  return format;
}

/// A matrix in any number format, on the host. It defines what each format means; operators have types of their own.
struct EncodedMatrix {
  NumberFormat format;
  std::size_t nrows = 0;
  std::size_t ncols = 0;
  Buffer<std::byte> levels;  ///< as number_traits(format.kind) lays them out
  Buffer<float> steps;       ///< none, 1, nrows or ncols of them, by format.scale
  Buffer<float> offsets;     ///< as many, or none
};

/// The matrix in another format. Scales and offsets come from the values of their extent:
///   signs             the mean magnitude
///   whole levels      the greatest magnitude over the greatest level; with an offset, the range over the range of
///   levels floats            the greatest magnitude, so that levels are at most 1
/// Throws usage for a format that is not valid; bad_input for a value that is not finite where levels are whole.
/// O(nrows * ncols).
[[nodiscard]] EncodedMatrix encode(const DenseMatrix<float>& values, const NumberFormat& format);

/// The values that the levels mean. O(nrows * ncols).
[[nodiscard]] DenseMatrix<float> decode(const EncodedMatrix& matrix);

}  // namespace bitgraph
