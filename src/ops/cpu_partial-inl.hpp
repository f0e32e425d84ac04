// SPDX-License-Identifier: Apache-2.0
// Loads and stores of the first few lanes of a vector, and a function of each lane. Included once for each instruction
// set (Highway's convention: the guard toggles).
#if defined(BITGRAPH_OPS_CPU_PARTIAL_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BITGRAPH_OPS_CPU_PARTIAL_INL_HPP
#undef BITGRAPH_OPS_CPU_PARTIAL_INL_HPP
#else
#define BITGRAPH_OPS_CPU_PARTIAL_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define BITGRAPH_MASKED_MEMORY 1  // lanes that are masked off do not touch memory
#else
#define BITGRAPH_MASKED_MEMORY 0
#endif

template <class DF>
HWY_INLINE hn::Vec<DF> load_all(DF d, const float* from) {
  return hn::LoadU(d, from);
}

/// The first `count` floats, zero behind them; all lanes where count is at least their number.
template <class DF>
HWY_INLINE hn::Vec<DF> load_first(DF d, const float* from, std::size_t count) {
  if (HWY_LIKELY(count >= hn::Lanes(d))) return hn::LoadU(d, from);
#if BITGRAPH_MASKED_MEMORY
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#else
  HWY_ALIGN float part[HWY_MAX_BYTES / 4] = {};
  for (std::size_t n = 0; n < count; ++n) part[n] = from[n];
  return hn::Load(d, part);
#endif
}

/// Stores the first `count` floats; all lanes where count is at least their number.
template <class DF>
HWY_INLINE void store_first(DF d, hn::Vec<DF> v, float* to, std::size_t count) {
  if (HWY_LIKELY(count >= hn::Lanes(d))) return hn::StoreU(v, d, to);
#if BITGRAPH_MASKED_MEMORY
  hn::BlendedStore(v, hn::FirstN(d, count), d, to);
#else
  HWY_ALIGN float part[HWY_MAX_BYTES / 4];
  hn::Store(v, d, part);
  for (std::size_t n = 0; n < count; ++n) to[n] = part[n];
#endif
}

#undef BITGRAPH_MASKED_MEMORY

/// fn(lane) of each lane of a vector of floats. The compiler makes vectors of it where it can.
template <class V, class Fn>
HWY_INLINE V for_each_lane(V v, const Fn& fn) {
  const hn::DFromV<V> d;
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (std::size_t n = 0; n < hn::MaxLanes(d); ++n) lanes[n] = fn(lanes[n]);
  return hn::Load(d, lanes);
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
