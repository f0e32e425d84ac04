// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/kernel_loop.hpp>
#include <bitgraph/core/parallel_loop.hpp>
#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/bit_vector.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
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

namespace detail {

/// What the library itself has kernels for on CUDA devices.
template <class T>
concept KernelValue = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int32_t> ||
    std::same_as<T, std::uint32_t> || std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t>;
template <class Monoid>
concept LibraryMonoid =
    std::same_as<Monoid, PlusMonoid> || std::same_as<Monoid, MinMonoid> || std::same_as<Monoid, MaxMonoid>;

template <LibraryMonoid Monoid, KernelValue T>
[[nodiscard]] T reduce_values(const Buffer<T>& x);
template <class Monoid, class T>
[[nodiscard]] T reduce_on_device(const Device& device, const T* x, std::size_t n);

}  // namespace detail

/// The elements of x added up; the identity where there are none. In pieces whose length follows from the number of
/// elements alone, added up in order: float sums are the same for any number of threads. On a CUDA device in an order
/// that follows from it too; the library's monoids over floats and integers of 32 and 64 bits, and in a file that nvcc
/// compiles any other whose functions the device may call (constexpr with --expt-relaxed-constexpr). O(n); allocates
/// nothing.
template <class Monoid, class T, bool with_kernels = detail::with_kernels>
[[nodiscard]] T reduce(Monoid, const Buffer<T>& x) {
  if constexpr (detail::LibraryMonoid<Monoid> && detail::KernelValue<T>) {
    if (!x.device().is_host()) return detail::reduce_values<Monoid>(x);
  } else if constexpr (with_kernels) {
    if (!x.device().is_host()) return detail::reduce_on_device<Monoid>(x.device(), x.data(), x.size());
  }
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

#ifdef __CUDACC__
#include <bitgraph/ops/reduce.cuh>
#endif
