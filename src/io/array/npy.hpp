// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/io/array.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph {

/// What stands before the data of a .npy file.
struct NpyHeader {
  std::string descr;  ///< NumPy's name of the element type, "<f4"; "record" for a list of fields
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  std::size_t data_offset = 0;  ///< bytes before the data
};

/// Bytes in which every header that is read ends; longer ones only records have.
inline constexpr std::size_t longest_npy_header = 65536;

/// Parses the header at the front of `bytes`, which may end anywhere behind it. Throws bad_input naming the byte.
[[nodiscard]] NpyHeader read_npy_header(std::span<const std::byte> bytes, const std::string& name);

/// How a file holds the elements of an Array.
struct NpyElement {
  ElementType type;       ///< as which they are given
  std::size_t size;       ///< bytes of one in the file
  bool reversed = false;  ///< big-endian
  bool half = false;      ///< 16-bit floats, given as float32
};

/// Empty for what is not a number: strings, objects, records, complex numbers, dates.
[[nodiscard]] std::optional<NpyElement> npy_element(std::string_view descr);

/// An Array of the data behind a header, all of it: row-major, little-endian.
[[nodiscard]] Array npy_array(const NpyHeader& header, const NpyElement& element, Buffer<std::byte> data);

/// Reads a .npy file's bytes. Empty for a type that is not a number. Throws bad_input.
[[nodiscard]] std::optional<Array> read_npy(std::span<const std::byte> bytes, const std::string& name);

/// The header of a version 1.0 file, padded so that the data starts at a multiple of 64 bytes.
[[nodiscard]] std::string npy_header(ElementType type, std::span<const std::uint64_t> shape);

/// A whole .npy file that holds one string (type S, no dimensions).
[[nodiscard]] std::string npy_of_text(std::string_view text);

}  // namespace bitgraph
