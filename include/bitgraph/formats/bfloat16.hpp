// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace bitgraph {

/// The upper half of an IEEE float32: 1 sign bit, 8 exponent bits, 7 fraction bits. It is for storage: arithmetic
/// converts to float first, which is exact.
struct Bfloat16 {
  std::uint16_t bits = 0;

  Bfloat16() = default;

  /// Rounds to nearest, ties to even. A NaN stays a NaN; a value above the largest finite bfloat16 becomes infinite.
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr Bfloat16(float value) noexcept : bits(rounded(std::bit_cast<std::uint32_t>(value))) {}

  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator float() const noexcept { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }

 private:
  static constexpr std::uint16_t rounded(std::uint32_t word) noexcept {
    const bool nan = (word & 0x7fffffffU) > 0x7f800000U;
    if (nan) return static_cast<std::uint16_t>((word >> 16U) | 0x40U);
    const std::uint32_t half = 0x7fffU + ((word >> 16U) & 1U);
    return static_cast<std::uint16_t>((word + half) >> 16U);
  }
};

}  // namespace bitgraph
