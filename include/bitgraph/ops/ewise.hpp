// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/error.hpp>
#include <bitgraph/core/kernel_loop.hpp>
#include <bitgraph/core/parallel_loop.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/bit_vector.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/ops/reduce.hpp>
#include <bitgraph/ops/semiring.hpp>

#include <cstddef>
#include <string>
#include <type_traits>

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

namespace detail {

/// ewise_mult on a CUDA device.
template <class T, class Fn>
struct EwiseLoop {
  T* out;
  const T* a;
  const T* b;
  Fn fn;
  constexpr T take(std::size_t i) const { return static_cast<T>(fn(a[i], b[i])); }
  constexpr void put(std::size_t i, const T& value) const { out[i] = value; }
};

template <class S>
struct AddOf {
  template <class T>
  constexpr T operator()(const T& a, const T& b) const {
    return S::add(a, b);
  }
};

/// The library's semirings that differ in how they add.
template <class S>
using SameAdd =
    std::conditional_t<std::is_same_v<S, PlusPair>, PlusTimes,
                       std::conditional_t<std::is_same_v<S, MinFirst> || std::is_same_v<S, AnyFirst>, MinPlus, S>>;

/// What the library itself has kernels for on CUDA devices.
template <class S, class T>
concept LibraryAdd = KernelValue<T> &&(std::same_as<S, PlusTimes> || std::same_as<S, MinPlus> ||
                                       std::same_as<S, MaxTimes> || (std::same_as<S, OrAnd> && std::is_integral_v<T>));

template <class S, class T>
requires LibraryAdd<S, T>
void ewise_add_values(Buffer<T>& out, const Buffer<T>& a, const Buffer<T>& b);

template <class T>
void check_ewise(const Buffer<T>& out, const Buffer<T>& a, const Buffer<T>& b) {
  if (a.size() != b.size() || out.size() != a.size()) {
    fail(ErrorCode::usage, "ewise: " + std::to_string(a.size()) + " and " + std::to_string(b.size()) + " values into " +
                               std::to_string(out.size()) + " places");
  }
  require_same_stream("ewise", "the output", out.device(), "a", a.device());
  require_same_stream("ewise", "the output", out.device(), "b", b.device());
}

}  // namespace detail

/// out(i) = fn(a(i), b(i)). `out` may be a or b. On a CUDA device fn is as apply() has it. Throws usage where the sizes
/// differ. O(n); allocates nothing.
template <class T, class Fn, bool with_kernels = detail::with_kernels>
void ewise_mult_into(Buffer<T>& out, Fn&& fn, const Buffer<T>& a, const Buffer<T>& b) {
  detail::check_ewise(out, a, b);
  if constexpr (with_kernels) {
    if (!a.device().is_host()) {
      const detail::EwiseLoop<T, std::decay_t<Fn>> loop{out.data(), a.data(), b.data(), fn};
      return detail::kernel_loop(a.device(), a.size(), loop);
    }
  }
  parallel_loop(a.device(), a.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) out[i] = fn(a[i], b[i]);
  });
}

/// out(i) = S::add(a(i), b(i)) for a semiring: the smaller distance, the sum. On a CUDA device the library's semirings
/// over floats and integers of 32 and 64 bits; others in a file that nvcc compiles.
template <class T, class S, bool with_kernels = detail::with_kernels>
void ewise_add_into(Buffer<T>& out, S, const Buffer<T>& a, const Buffer<T>& b) {
  if constexpr (detail::LibraryAdd<detail::SameAdd<S>, T>) {
    if (!a.device().is_host()) {
      detail::check_ewise(out, a, b);
      return detail::ewise_add_values<detail::SameAdd<S>>(out, a, b);
    }
  }
  ewise_mult_into<T, detail::AddOf<S>, with_kernels>(out, detail::AddOf<S>{}, a, b);
}

template <class T, class Fn, bool with_kernels = detail::with_kernels>
[[nodiscard]] Buffer<T> ewise_mult(Fn&& fn, const Buffer<T>& a, const Buffer<T>& b) {
  Buffer<T> out(a.size(), a.device());
  ewise_mult_into<T, Fn&, with_kernels>(out, fn, a, b);
  return out;
}

template <class T, class S, bool with_kernels = detail::with_kernels>
[[nodiscard]] Buffer<T> ewise_add(S semiring, const Buffer<T>& a, const Buffer<T>& b) {
  Buffer<T> out(a.size(), a.device());
  ewise_add_into<T, S, with_kernels>(out, semiring, a, b);
  return out;
}

}  // namespace bitgraph
