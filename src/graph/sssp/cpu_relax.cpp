// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "graph/sssp/cpu_relax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "graph/sssp/cpu_relax.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using sssp_cpu::Nearer;
using DI = hn::ScalableTag<std::int32_t>;
constexpr std::size_t lanes = HWY_LANES(std::int32_t);

std::int32_t plus(std::int32_t from, std::uint8_t weight) {
  const std::uint32_t through = static_cast<std::uint32_t>(from) + weight;
  return static_cast<std::int32_t>(through < 0x7FFFFFFFU ? through : 0x7FFFFFFFU);
}
float plus(float from, float weight) { return from + weight; }

/// Sums that would be above the largest integer are that: they come nearer to nothing.
HWY_INLINE hn::Vec<DI> plus(hn::Vec<DI> from, const std::uint8_t* weights) {
  const DI d;
  const hn::Rebind<std::uint8_t, DI> bytes;
  const hn::RebindToUnsigned<DI> du;
  const auto sum = hn::Add(hn::BitCast(du, from), hn::PromoteTo(du, hn::LoadU(bytes, weights)));
  return hn::BitCast(d, hn::Min(sum, hn::Set(du, 0x7FFFFFFFU)));
}
HWY_INLINE hn::Vec<hn::ScalableTag<float>> plus(hn::Vec<hn::ScalableTag<float>> from, const float* weights) {
  return hn::Add(from, hn::LoadU(hn::ScalableTag<float>(), weights));
}

// Other threads bring distances down meanwhile. One that is read too early is too large, and compared again before it
// is replaced; the thread sanitizer, which does not know that of a gather, is shown single reads.
#if defined(__SANITIZE_THREAD__)
constexpr bool gathers = false;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool gathers = false;
#else
constexpr bool gathers = true;
#endif
#else
constexpr bool gathers = true;
#endif

template <class Distance>
HWY_INLINE Distance read_now(const Distance* place) {
  Distance value;
  __atomic_load(place, &value, __ATOMIC_RELAXED);
  return value;
}

template <class Weight, class Distance>
HWY_INLINE std::size_t find_nearer(const NodeId* HWY_RESTRICT columns, const Weight* HWY_RESTRICT weights,
                                   std::size_t size, Distance from, const Distance* HWY_RESTRICT distance,
                                   Nearer<Distance>& found) {
  const hn::ScalableTag<Distance> d;
  const DI di;
  const auto start = hn::Set(d, from);
  std::size_t count = 0;
  std::size_t k = 0;
  for (; gathers && k + lanes <= size; k += lanes) {
    const auto column = hn::LoadU(di, reinterpret_cast<const std::int32_t*>(columns + k));
    const auto through = plus(start, weights + k);
    const auto nearer = hn::Lt(through, hn::GatherIndex(d, distance, column));
    if (hn::AllFalse(d, nearer)) continue;
    hn::CompressStore(through, nearer, d, found.distance + count);
    count += hn::CompressStore(column, hn::RebindMask(di, nearer), di,
                               reinterpret_cast<std::int32_t*>(found.column + count));
  }
  for (; k < size; ++k) {
    const Distance through = plus(from, weights[k]);
    found.column[count] = columns[k];
    found.distance[count] = through;
    count += through < read_now(distance + columns[k]) ? 1 : 0;
  }
  return count;
}

std::size_t find_nearer_integers(const NodeId* columns, const std::uint8_t* weights, std::size_t size,
                                 std::int32_t from, const std::int32_t* distance, Nearer<std::int32_t>& found) {
  return find_nearer(columns, weights, size, from, distance, found);
}

std::size_t find_nearer_floats(const NodeId* columns, const float* weights, std::size_t size, float from,
                               const float* distance, Nearer<float>& found) {
  return find_nearer(columns, weights, size, from, distance, found);
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph::sssp_cpu {
namespace {
HWY_EXPORT(find_nearer_integers);
HWY_EXPORT(find_nearer_floats);

/// Until it is known what the processor has, the tables' entries find that out at every call.
void know_processor() {
  if (!hwy::GetChosenTarget().IsInitialized()) hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

template <>
RelaxColumns<std::uint8_t, std::int32_t> relax_columns() {
  know_processor();
  return &HWY_DYNAMIC_DISPATCH(find_nearer_integers);
}

template <>
RelaxColumns<float, float> relax_columns() {
  know_processor();
  return &HWY_DYNAMIC_DISPATCH(find_nearer_floats);
}

}  // namespace bitgraph::sssp_cpu
#endif
