// SPDX-License-Identifier: Apache-2.0
// Operands of spmm element by element, for loops that need not be quick, and the bytes of an element.
#pragma once

#include "ops/spmm/spmm.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// Bytes of a number of a dense operand; 0 of bits.
template <class T>
std::size_t number_bytes(const DenseView<T>&) {
  return sizeof(T);
}
inline std::size_t number_bytes(const BitsIn&) { return 0; }
inline std::size_t number_bytes(const BitsOut&) { return 0; }

inline float element(const BitsIn& x, std::size_t j, std::size_t f) { return PlusMinusOne::value(x.bit(j, f)); }
template <class T>
float element(const DenseView<const T>& x, std::size_t j, std::size_t f) {
  return x(j, f);
}

/// Stores the elements of a row one after another, from the first on: the first of 64 clears its word of bits.
template <class T>
void store(const DenseView<T>& out, std::size_t i, std::size_t f, float y) {
  out(i, f) = y;
}
inline void store(const BitsOut& out, std::size_t i, std::size_t f, float y) {
  if (f % 64 == 0) out.row(i)[f / 64] = 0;
  out.row(i)[f / 64] |= static_cast<std::uint64_t>(y >= 0) << (f % 64);
}

}  // namespace bitgraph
