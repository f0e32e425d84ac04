// SPDX-License-Identifier: Apache-2.0
// Operands of spmm element by element, for loops that need not be quick.
#pragma once

#include "ops/spmm/spmm.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph {

inline float element(const BitsIn& x, std::size_t j, std::size_t f) { return PlusMinusOne::value(x.bit(j, f)); }
inline float element(const FloatIn& x, std::size_t j, std::size_t f) { return x(j, f); }

/// Those of a row from the first on: a word of bits begins with its lowest one.
inline void store(const FloatOut& out, std::size_t i, std::size_t f, float y) { out(i, f) = y; }
inline void store(const BitsOut& out, std::size_t i, std::size_t f, float y) {
  if (f % 64 == 0) out.row(i)[f / 64] = 0;
  out.row(i)[f / 64] |= static_cast<std::uint64_t>(y >= 0) << (f % 64);
}

}  // namespace bitgraph
