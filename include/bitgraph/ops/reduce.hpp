// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/parallel_loop.hpp>
#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/bit_vector.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace bitgraph {

// What reduce() adds up with. One of your own is a type with these two static templates; add is associative.

struct PlusMonoid {
  template <class T>
  static constexpr T identity() noexcept {
    return T{};
  }
  template <class T>
  static constexpr T add(T a, T b) noexcept {
    return static_cast<T>(a + b);
  }
};

struct MinMonoid {
  template <class T>
  static constexpr T identity() noexcept {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  }
  template <class T>
  static constexpr T add(T a, T b) noexcept {
    return b < a ? b : a;
  }
};

struct MaxMonoid {
  template <class T>
  static constexpr T identity() noexcept {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  }
  template <class T>
  static constexpr T add(T a, T b) noexcept {
    return a < b ? b : a;
  }
};

inline constexpr PlusMonoid plus_monoid{};
inline constexpr MinMonoid min_monoid{};
inline constexpr MaxMonoid max_monoid{};

/// The elements of x added up; the identity where there are none. In pieces whose length follows from the number of
/// elements alone, added up in order: float sums are the same for any number of threads. O(n); allocates nothing.
template <class Monoid, class T>
[[nodiscard]] T reduce(Monoid, const Buffer<T>& x) {
  constexpr std::size_t most_pieces = 256;
  const std::size_t grain = std::max<std::size_t>(4096, (x.size() + most_pieces - 1) / most_pieces);
  std::array<T, most_pieces> sums{};
  parallel_loop(x.device(), x.size(), grain, [&](std::size_t begin, std::size_t end) {
    T sum = Monoid::template identity<T>();
    for (std::size_t i = begin; i < end; ++i) sum = Monoid::add(sum, x[i]);
    sums[begin / grain] = sum;
  });
  T total = Monoid::template identity<T>();
  for (std::size_t piece = 0; piece * grain < x.size(); ++piece) total = Monoid::add(total, sums[piece]);
  return total;
}

/// How many bits are set: the sum of a vector of bits. O(n / 64).
[[nodiscard]] std::size_t count(const BitVector& x);

/// True where a bit is set: the sum over or. O(n / 64).
[[nodiscard]] bool any(const BitVector& x);

/// The entries of each row, or of each column: the sums of a 0/1 matrix along its rows, or columns; the degrees of a
/// graph. Graph is CsrPattern or BitTileMatrix. O(nrows) for the rows of a CsrPattern, else O(nvals) or O(tile bytes).
template <class Graph>
[[nodiscard]] Buffer<NodeId> row_sums(const Graph& a);
template <class Graph>
[[nodiscard]] Buffer<NodeId> column_sums(const Graph& a);

}  // namespace bitgraph
