// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <limits>
#include <type_traits>

namespace bitgraph {

/// A semiring over a 0/1 matrix: the matrix has no values, so multiplying is a function of the vector's value alone.
///
///     identity<T>()   of add: what an empty row gives
///     add(a, b)       commutative and associative (for floats: but for rounding)
///     multiply(x)     1 (x) x, the product with an entry of the matrix
///
/// One of your own is a type with these three static templates; the kernels take it as they take those below
/// (ops/mxv_with.hpp).
template <class S, class T>
concept SemiringOver = requires(T a, T b) {
  { S::template identity<T>() } -> std::same_as<T>;
  { S::add(a, b) } -> std::same_as<T>;
  { S::multiply(a) } -> std::same_as<T>;
};

/// The largest value that stands for "unreached": infinity for floating point, the largest integer otherwise.
template <class T>
[[nodiscard]] constexpr T unreached() noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return std::numeric_limits<T>::infinity();
  } else {
    return std::numeric_limits<T>::max();
  }
}

/// a + b; integers wrap around, so that every order of a sum gives the same.
template <class T>
[[nodiscard]] constexpr T wrapping_sum(T a, T b) noexcept {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
  } else {
    return a + b;
  }
}

/// Reachability (Bit-GraphBLAS, Table IV: Boolean): BFS, diameter, independent sets. Over bits.
struct OrAnd {
  template <class T>
  static constexpr T identity() noexcept {
    return T{};
  }
  template <class T>
  static constexpr T add(T a, T b) noexcept {
    return static_cast<T>(a | b);
  }
  template <class T>
  static constexpr T multiply(T x) noexcept {
    return x;
  }
};

/// The arithmetic semiring: PageRank, local clustering, counts of neighbours in a set. Integers wrap around.
struct PlusTimes {
  template <class T>
  static constexpr T identity() noexcept {
    return T{};
  }
  template <class T>
  static constexpr T add(T a, T b) noexcept {
    return wrapping_sum(a, b);
  }
  template <class T>
  static constexpr T multiply(T x) noexcept {
    return x;
  }
};

/// Counts entries, whatever the vector's values: degrees, common neighbours.
struct PlusPair {
  template <class T>
  static constexpr T identity() noexcept {
    return T{};
  }
  template <class T>
  static constexpr T add(T a, T b) noexcept {
    return wrapping_sum(a, b);
  }
  template <class T>
  static constexpr T multiply(T) noexcept {
    return T{1};
  }
};

/// Tropical: a step of shortest paths over unit edges. unreached<T>() stays what it is.
struct MinPlus {
  template <class T>
  static constexpr T identity() noexcept {
    return unreached<T>();
  }
  template <class T>
  static constexpr T add(T a, T b) noexcept {
    return b < a ? b : a;
  }
  template <class T>
  static constexpr T multiply(T x) noexcept {
    if constexpr (std::is_floating_point_v<T>) {
      return x + T{1};
    } else {
      return x == unreached<T>() ? x : static_cast<T>(x + 1);
    }
  }
};

/// Tropical: the largest value among neighbours (independent sets, colouring). Values must not be negative.
struct MaxTimes {
  template <class T>
  static constexpr T identity() noexcept {
    return T{};
  }
  template <class T>
  static constexpr T add(T a, T b) noexcept {
    return a < b ? b : a;
  }
  template <class T>
  static constexpr T multiply(T x) noexcept {
    return x;
  }
};

/// The smallest value among neighbours: labels of components; parents, where the value is the node's own number.
struct MinFirst {
  template <class T>
  static constexpr T identity() noexcept {
    return unreached<T>();
  }
  template <class T>
  static constexpr T add(T a, T b) noexcept {
    return b < a ? b : a;
  }
  template <class T>
  static constexpr T multiply(T x) noexcept {
    return x;
  }
};

/// Any neighbour's value. Here the smallest, so that the result is the same everywhere.
struct AnyFirst : MinFirst {};

inline constexpr OrAnd or_and{};
inline constexpr PlusTimes plus_times{};
inline constexpr PlusPair plus_pair{};
inline constexpr MinPlus min_plus{};
inline constexpr MaxTimes max_times{};
inline constexpr MinFirst min_first{};
inline constexpr AnyFirst any_first{};

}  // namespace bitgraph
