// SPDX-License-Identifier: Apache-2.0
// What the readers and writers of arrays share: npy, npz, safetensors.
#pragma once

#include <bitgraph/io/array.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace bitgraph {

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

/// The element type of a C++ type.
template <class T>
constexpr ElementType element_type_of() noexcept {
  if constexpr (std::is_same_v<T, float>) return ElementType::f32;
  if constexpr (std::is_same_v<T, double>) return ElementType::f64;
  constexpr bool is_signed = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1: return is_signed ? ElementType::i8 : ElementType::u8;
    case 2: return is_signed ? ElementType::i16 : ElementType::u16;
    case 4: return is_signed ? ElementType::i32 : ElementType::u32;
    default: return is_signed ? ElementType::i64 : ElementType::u64;
  }
}

/// Product of a shape. Throws bad_input where it exceeds `most`, whatever the product would wrap to.
[[nodiscard]] std::uint64_t checked_size(std::span<const std::uint64_t> shape, std::uint64_t most,
                                         const std::string& name);

/// Throws usage unless the shape and the type ask for exactly `bytes` bytes. For writers.
void require_size(ElementType type, std::span<const std::uint64_t> shape, std::size_t bytes, const std::string& name);

/// Array::as with the result on a device of the caller's.
template <class T>
[[nodiscard]] Buffer<T> converted(const Array& array, const Device& device = {});

/// A one-dimensional array of values of type T.
template <class T>
[[nodiscard]] Array vector_array(std::span<const T> values) {
  return {element_type_of<T>(), {values.size()}, Buffer<std::byte>::copy_of(std::as_bytes(values))};
}

/// 16-bit floating point: IEEE 754 half (NumPy f2, safetensors F16), or the upper half of a float32 (BF16).
enum class HalfKind { ieee, brain };

/// Little-endian 16-bit floats as float32, exactly.
[[nodiscard]] Buffer<std::byte> widened(std::span<const std::byte> halves, HalfKind kind);

}  // namespace bitgraph
