// SPDX-License-Identifier: Apache-2.0
// The hyperbolic tangent as float32 operations that every device has, in one order and none of them fused: the same
// bits everywhere.
#pragma once

#include <bit>
#include <cstdint>

namespace bitgraph {

/// tanh(x), at most 1.3 units in the last place from it; never decreases as x grows, odd, and NaN for NaN. Near 0 it is
/// an odd polynomial, else 1 - 2 / (exp(2 |x|) + 1), where exp is a power of two times a polynomial. Both polynomials
/// are minimax fits.
constexpr float tanh_of(float x) {
  constexpr std::uint32_t sign_bit = 0x80000000U;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const float a = std::bit_cast<float>(bits & ~sign_bit);

  const float z = a * a;
  float near = -0.005716645159F;
  near = near * z + 0.02065028064F;
  near = near * z - 0.05374342948F;
  near = near * z + 0.1333149076F;
  near = near * z - 0.3333328366F;
  near = a + a * z * near;

  constexpr float one_from = 10, log2_e = 1.442695041F;
  constexpr float ln_2_high = 0.693359375F, ln_2_low = -2.1219444e-4F;  // the first times any power has no rounding
  const float twice = 2 * (a < one_from ? a : one_from);
  const float next_half = twice * log2_e + 0.5F;  // whose whole part is the nearest power
  const auto power = static_cast<std::int32_t>(next_half);
  const auto count = static_cast<float>(power);
  const float r = twice - count * ln_2_high - count * ln_2_low;
  float rest = 0.001395093859F;
  rest = rest * r + 0.008369667456F;
  rest = rest * r + 0.04166620597F;
  rest = rest * r + 0.1666651219F;
  rest = rest * r + 0.5F;
  rest = rest * (r * r) + r + 1;
  const float exponential = rest * std::bit_cast<float>((power + 127) << 23);
  const float far = 1 - 2 / (exponential + 1);

  const float y = a != a ? a : a < 0.625F ? near : far;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(y) | (bits & sign_bit));
}

}  // namespace bitgraph
