// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/io/array.hpp>

#include <optional>
#include <span>
#include <string>

namespace bitgraph {

/// Reads a .npy file's bytes. Empty for a type that is not a number (strings, objects, records). Throws bad_input.
[[nodiscard]] std::optional<Array> read_npy(std::span<const std::byte> bytes, const std::string& name);

/// The header of a version 1.0 file, padded so that the data starts at a multiple of 64 bytes.
[[nodiscard]] std::string npy_header(ElementType type, std::span<const std::uint64_t> shape);

/// Product of a shape; throws bad_input where it exceeds `most`.
[[nodiscard]] std::uint64_t checked_size(std::span<const std::uint64_t> shape, std::uint64_t most,
                                         const std::string& name);

/// Calls fn(T{}) with the C++ type of an element type.
template <class Fn>
decltype(auto) with_element_type(ElementType type, Fn&& fn) {
  switch (type) {
    case ElementType::u8: return fn(std::uint8_t{});
    case ElementType::i8: return fn(std::int8_t{});
    case ElementType::u16: return fn(std::uint16_t{});
    case ElementType::i16: return fn(std::int16_t{});
    case ElementType::u32: return fn(std::uint32_t{});
    case ElementType::i32: return fn(std::int32_t{});
    case ElementType::u64: return fn(std::uint64_t{});
    case ElementType::i64: return fn(std::int64_t{});
    case ElementType::f32: return fn(float{});
    case ElementType::f64: break;
  }
  return fn(double{});
}

}  // namespace bitgraph
