// SPDX-License-Identifier: Apache-2.0
#include "io/array/array.hpp"

#include "io/file/file.hpp"

#include <bitgraph/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace bitgraph {

namespace {

template <class To, class From>
bool fits(From value) {
  if constexpr (std::is_same_v<To, float> && std::is_same_v<From, double>) {
    return !std::isfinite(value) || std::abs(value) <= double{std::numeric_limits<float>::max()};
  } else if constexpr (std::is_floating_point_v<To>) {
    return true;
  } else if constexpr (std::is_floating_point_v<From>) {
    // 2^digits is exact as a floating point number; NaN fails every comparison.
    const From above = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    const From below = std::is_signed_v<To> ? -above : From{0};
    return value >= below && value < above && value == std::floor(value);
  } else {
    return std::in_range<To>(value);
  }
}

template <class T>
std::string range_of() {
  if constexpr (std::is_floating_point_v<T>) return "a number that a float32 can hold";
  return fmt::format("a whole number from {} to {}", std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
}

std::uint32_t widened_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 31) return sign | 0x7F800000U | (fraction << 13);
  if (exponent != 0) return sign | ((exponent + 112) << 23) | (fraction << 13);
  return sign | std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1.0p-24F);
}

}  // namespace

std::size_t element_size(ElementType type) noexcept {
  return with_element_type(type, [](auto value) { return sizeof(value); });
}

const char* to_string(ElementType type) noexcept {
  constexpr std::array<const char*, 10> names{"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"};
  return names[static_cast<std::size_t>(type)];
}

std::uint64_t checked_size(std::span<const std::uint64_t> shape, std::uint64_t most, const std::string& name) {
  if (std::find(shape.begin(), shape.end(), 0U) != shape.end()) return 0;
  std::uint64_t size = 1;  // of a shape without sides, too
  bool fits = most >= size;
  for (const std::uint64_t side : shape) {
    fits = fits && size <= most / side;
    size *= side;
  }
  if (!fits) {
    fail_in(name, fmt::format("a shape of ({}) asks for more than the {} elements that there is room for",
                              fmt::join(shape, ", "), most));
  }
  return size;
}

void require_size(ElementType type, std::span<const std::uint64_t> shape, std::size_t bytes, const std::string& name) {
  const bool empty = std::find(shape.begin(), shape.end(), 0U) != shape.end();
  std::uint64_t left = bytes / element_size(type);
  bool fit = bytes % element_size(type) == 0 && empty == (bytes == 0);
  for (const std::uint64_t side : shape) {
    if (!fit || empty) break;
    fit = left % side == 0;
    left /= side;
  }
  if (!fit || (!empty && left != 1)) {
    fail(ErrorCode::usage, fmt::format("{}: {} bytes do not fill a shape of ({}) of {}", name, bytes,
                                       fmt::join(shape, ", "), to_string(type)));
  }
}

std::uint64_t Array::size() const noexcept {
  std::uint64_t size = 1;
  for (const std::uint64_t side : shape) size *= side;
  return size;
}

template <class T>
Buffer<T> converted(const Array& array, const Device& device) {
  Buffer<T> out(array.data.size() / element_size(array.type), device);
  with_element_type(array.type, [&](auto zero) {
    using From = decltype(zero);
    for (std::size_t n = 0; n < out.size(); ++n) {
      From value;
      std::memcpy(&value, array.data.data() + n * sizeof(From), sizeof(From));
      if (!fits<T>(value))
        fail(ErrorCode::bad_input, fmt::format("element {}: found {}, expected {}", n, value, range_of<T>()));
      out[n] = static_cast<T>(value);  // NOLINT(bugprone-signed-char-misuse): an int8 is a number here, not a character
    }
  });
  return out;
}

template <class T>
Buffer<T> Array::as() const {
  return converted<T>(*this);
}

template Buffer<std::uint8_t> converted(const Array&, const Device&);
template Buffer<std::int32_t> converted(const Array&, const Device&);
template Buffer<std::uint32_t> converted(const Array&, const Device&);
template Buffer<std::int64_t> converted(const Array&, const Device&);
template Buffer<std::uint64_t> converted(const Array&, const Device&);
template Buffer<float> converted(const Array&, const Device&);
template Buffer<double> converted(const Array&, const Device&);
template Buffer<std::uint8_t> Array::as() const;
template Buffer<std::int32_t> Array::as() const;
template Buffer<std::uint32_t> Array::as() const;
template Buffer<std::int64_t> Array::as() const;
template Buffer<std::uint64_t> Array::as() const;
template Buffer<float> Array::as() const;
template Buffer<double> Array::as() const;

Buffer<std::byte> widened(std::span<const std::byte> halves, HalfKind kind) {
  Buffer<std::byte> wide(halves.size() / 2 * 4);
  for (std::size_t n = 0; n < halves.size() / 2; ++n) {
    std::uint16_t half = 0;
    std::memcpy(&half, halves.data() + 2 * n, 2);
    const std::uint32_t bits = kind == HalfKind::brain ? std::uint32_t{half} << 16 : widened_half(half);
    std::memcpy(wide.data() + 4 * n, &bits, 4);
  }
  return wide;
}

}  // namespace bitgraph
