// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/error.hpp>
#include <bitgraph/core/parallel_loop.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/bit_vector.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/ops/semiring.hpp>

#include <cstddef>
#include <string>

namespace bitgraph {

/// How two sets are put together: frontier with visited nodes, graph with graph.
enum class SetOp {
  either,       ///< a | b: ewise_add over or_and
  both,         ///< a & b: ewise_mult over or_and
  without,      ///< a & ~b
  exactly_one,  ///< a ^ b
};

/// out = a op b, bit by bit. `out` may be a or b. Throws usage where the sizes differ. O(n / 64); allocates nothing.
void ewise_into(BitVector& out, SetOp op, const BitVector& a, const BitVector& b);

/// The entries that two matrices of one shape and format have together. The result's arrays have exactly their size.
/// Graph is CsrPattern or BitTileMatrix. Throws usage naming the shapes. O(nvals of both), or their tiles.
template <class Graph>
[[nodiscard]] Graph ewise(SetOp op, const Graph& a, const Graph& b);

[[nodiscard]] inline BitVector ewise(SetOp op, const BitVector& a, const BitVector& b) {
  BitVector out(a.size(), a.device());
  ewise_into(out, op, a, b);
  return out;
}

// GraphBLAS's names: the union of what two vectors or matrices hold, and what they have in common. Every element of a
// Buffer is there: the two differ in the operation only.

/// Sets and matrices, over or_and.
template <class SetOrGraph>
[[nodiscard]] SetOrGraph ewise_add(OrAnd, const SetOrGraph& a, const SetOrGraph& b) {
  return ewise(SetOp::either, a, b);
}
template <class SetOrGraph>
[[nodiscard]] SetOrGraph ewise_mult(OrAnd, const SetOrGraph& a, const SetOrGraph& b) {
  return ewise(SetOp::both, a, b);
}

/// out(i) = fn(a(i), b(i)). `out` may be a or b. Throws usage where the sizes differ. O(n); allocates nothing.
template <class T, class Fn>
void ewise_mult_into(Buffer<T>& out, Fn&& fn, const Buffer<T>& a, const Buffer<T>& b) {
  if (a.size() != b.size() || out.size() != a.size()) {
    fail(ErrorCode::usage, "ewise: " + std::to_string(a.size()) + " and " + std::to_string(b.size()) + " values into " +
                               std::to_string(out.size()) + " places");
  }
  parallel_loop(a.device(), a.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) out[i] = fn(a[i], b[i]);
  });
}

/// out(i) = S::add(a(i), b(i)) for a semiring: the smaller distance, the sum.
template <class T, class S>
void ewise_add_into(Buffer<T>& out, S, const Buffer<T>& a, const Buffer<T>& b) {
  ewise_mult_into(
      out, [](T x, T y) { return S::add(x, y); }, a, b);
}

template <class T, class Fn>
[[nodiscard]] Buffer<T> ewise_mult(Fn&& fn, const Buffer<T>& a, const Buffer<T>& b) {
  Buffer<T> out(a.size(), a.device());
  ewise_mult_into(out, fn, a, b);
  return out;
}

template <class T, class S>
[[nodiscard]] Buffer<T> ewise_add(S semiring, const Buffer<T>& a, const Buffer<T>& b) {
  Buffer<T> out(a.size(), a.device());
  ewise_add_into(out, semiring, a, b);
  return out;
}

}  // namespace bitgraph
