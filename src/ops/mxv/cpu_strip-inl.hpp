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

#include "ops/mxv/cpu.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using mxv_cpu::GraphRef;
using mxv_cpu::strip_rows;
using mxv_cpu::StripRange;

/// Lanes that are masked off do not touch memory.
constexpr bool masked_memory = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL;

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

/// Stores the values of a strip: all that are selected, added to what is there where the rule says so.
template <class T, class Add>
HWY_INLINE void store_strip(T* out, const OutputRule& rule, std::uint64_t selected, std::size_t count, const T* values,
                            T identity, const Add& add) {
  const std::uint64_t all = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  if (selected == all && !rule.accumulate) {
    for (std::size_t r = 0; r < count; ++r) out[r] = values[r];
    return;
  }
  for (std::size_t r = 0; r < count; ++r) {
    if (((selected >> r) & 1) != 0) {
      out[r] = rule.accumulate ? add(out[r], values[r]) : values[r];
    } else if (rule.replace) {
      out[r] = identity;
    }
  }
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
