// SPDX-License-Identifier: Apache-2.0
// What the kernels of mxv share: the side of the tiles as a constant, and storing a strip's results under the mask.
// Included once for each instruction set (Highway's convention: the guard toggles).
#if defined(BITGRAPH_OPS_MXV_CPU_STRIP_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BITGRAPH_OPS_MXV_CPU_STRIP_INL_HPP
#undef BITGRAPH_OPS_MXV_CPU_STRIP_INL_HPP
#else
#define BITGRAPH_OPS_MXV_CPU_STRIP_INL_HPP
#endif

#include <hwy/highway.h>

#include "ops/mxv/cpu/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using mxv_cpu::GraphRef;
using mxv_cpu::strip_rows;
using mxv_cpu::StripRange;

/// Lanes that are masked off do not touch memory.
inline constexpr bool masked_memory = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL;

/// run(integral_constant<int, K>) for the side of the tiles; 0 for pattern CSR.
template <class Run>
HWY_INLINE void with_side(int tile_dim, const Run& run) {
  switch (tile_dim) {
    case 0: return run(std::integral_constant<int, 0>{});
    case 4: return run(std::integral_constant<int, 4>{});
    case 8: return run(std::integral_constant<int, 8>{});
    case 16: return run(std::integral_constant<int, 16>{});
    case 32: return run(std::integral_constant<int, 32>{});
    default: return run(std::integral_constant<int, 64>{});
  }
}

/// How many rows strip s has: 64 but for the last.
HWY_INLINE std::size_t rows_of_strip(const GraphRef& a, std::size_t s) {
  return HWY_MIN(strip_rows, a.nrows - s * strip_rows);
}

/// The rows of strip s that are computed.
HWY_INLINE std::uint64_t selected_rows(const GraphRef& a, const OutputRule& rule, std::size_t s) {
  const std::size_t rows = rows_of_strip(a, s);
  return rule.selected(s) & (rows == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << rows) - 1);
}

/// fn(tile row, its number in the strip) for each tile row of strip s of which a row is selected.
template <int K, class Fn>
HWY_INLINE void for_selected_tile_rows(const GraphRef& a, std::size_t s, std::uint64_t selected, const Fn& fn) {
  constexpr std::uint64_t rows_of_one = K == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (K % 64)) - 1;
  const std::size_t first = s * (strip_rows / K);
  const std::size_t count = (rows_of_strip(a, s) + K - 1) / K;
  for (std::size_t n = 0; n < count; ++n) {
    if (((selected >> (n * K)) & rows_of_one) != 0) fn(first + n, n);
  }
}

/// The bits of the K columns of tile column c.
template <int K>
HWY_INLINE std::uint64_t vector_bits(const std::uint64_t* x, NodeId c) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(x);
  if constexpr (K == 4) {
    return (bytes[c / 2] >> (c % 2 * 4)) & 0xFU;
  } else {
    TileWord<K> word;
    hwy::CopyBytes<sizeof(word)>(bytes + std::size_t{c} * sizeof(word), &word);
    return word;
  }
}

/// The semiring's addition, on vectors and on values.
struct SumOf {
  template <class V>
  static HWY_INLINE V add(V a, V b) {
    return hn::Add(a, b);
  }
  using Scalar = PlusTimes;
};
struct MinOf {
  template <class V>
  static HWY_INLINE V add(V a, V b) {
    return hn::Min(a, b);
  }
  using Scalar = MinFirst;
};
struct MaxOf {
  template <class V>
  static HWY_INLINE V add(V a, V b) {
    return hn::Max(a, b);
  }
  using Scalar = MaxTimes;
};

template <class R, class T>
constexpr T identity_of() {
  return R::Scalar::template identity<T>();
}

/// Lanes in the widest vector of T that is used.
template <class T>
inline constexpr std::size_t value_lanes = HWY_MIN(HWY_LANES(T), 64 / sizeof(T));

/// Stores the values of a strip: all that are selected, added to what is there where the rule says so.
template <class R, class T>
HWY_INLINE void store_strip(T* out, const OutputRule& rule, std::uint64_t selected, std::size_t count,
                            const T* values) {
  if (selected == ~std::uint64_t{0} && !rule.accumulate) {
    for (std::size_t r = 0; r < strip_rows; ++r) out[r] = values[r];
    return;
  }
  const hn::CappedTag<T, value_lanes<T>> d;
  const auto identity = hn::Set(d, identity_of<R, T>());
  std::size_t r = 0;
  for (; r + value_lanes<T> <= count; r += value_lanes<T>) {
    const std::uint64_t bits = selected >> r;
    const auto mask = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bits));
    const auto before = hn::LoadU(d, out + r);
    const auto value = hn::Load(d, values + r);
    hn::StoreU(hn::IfThenElse(mask, rule.accumulate ? R::add(value, before) : value, rule.replace ? identity : before),
               d, out + r);
  }
  for (; r < count; ++r) {
    if (((selected >> r) & 1) != 0) {
      out[r] = rule.accumulate ? R::Scalar::add(out[r], values[r]) : values[r];
    } else if (rule.replace) {
      out[r] = identity_of<R, T>();
    }
  }
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
