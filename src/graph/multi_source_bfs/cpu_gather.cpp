// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "graph/multi_source_bfs/cpu_gather.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "graph/multi_source_bfs/cpu_gather.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t columns_together = 32;
constexpr std::size_t rows_ahead = 8;

template <std::size_t W>
HWY_INLINE void gather(const NodeId* HWY_RESTRICT columns, std::size_t size, const std::uint64_t* HWY_RESTRICT active,
                       const std::uint64_t* HWY_RESTRICT rows, const std::uint64_t* HWY_RESTRICT missing,
                       std::uint64_t* HWY_RESTRICT found) {
  constexpr std::size_t lanes = HWY_MIN(W, HWY_LANES(std::uint64_t));
  constexpr std::size_t vectors = W / lanes;
  const hn::CappedTag<std::uint64_t, lanes> d;
  using V = hn::Vec<decltype(d)>;
  V wanted[vectors];
  V sum[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    wanted[v] = hn::LoadU(d, missing + v * lanes);
    sum[v] = hn::Zero(d);
  }
  for (std::size_t begin = 0; begin < size; begin += columns_together) {
    // First which rows are active, then they alone are fetched, some ahead: each is a line of the cache.
    const std::size_t end = HWY_MIN(begin + columns_together, size);
    NodeId list[columns_together];
    std::size_t count = 0;
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t j = columns[k];
      list[count] = columns[k];
      count += (active[j / 64] >> (j % 64)) & 1U;
    }
    for (std::size_t i = 0; i < HWY_MIN(count, rows_ahead); ++i) hwy::Prefetch(rows + std::size_t{list[i]} * W);
    for (std::size_t i = 0; i < count; ++i) {
      if (i + rows_ahead < count) hwy::Prefetch(rows + std::size_t{list[i + rows_ahead]} * W);
      const std::uint64_t* row = rows + std::size_t{list[i]} * W;
      V left = hn::Zero(d);
      for (std::size_t v = 0; v < vectors; ++v) {
        sum[v] = hn::Or(sum[v], hn::LoadU(d, row + v * lanes));
        left = hn::Or(left, hn::AndNot(sum[v], wanted[v]));
      }
      if (hn::AllTrue(d, hn::Eq(left, hn::Zero(d)))) {
        begin = size;
        break;
      }
    }
  }
  for (std::size_t v = 0; v < vectors; ++v) hn::StoreU(sum[v], d, found + v * lanes);
}

void gather1(const NodeId* columns, std::size_t size, const std::uint64_t* active, const std::uint64_t* rows,
             const std::uint64_t* missing, std::uint64_t* found) {
  gather<1>(columns, size, active, rows, missing, found);
}
void gather2(const NodeId* columns, std::size_t size, const std::uint64_t* active, const std::uint64_t* rows,
             const std::uint64_t* missing, std::uint64_t* found) {
  gather<2>(columns, size, active, rows, missing, found);
}
void gather4(const NodeId* columns, std::size_t size, const std::uint64_t* active, const std::uint64_t* rows,
             const std::uint64_t* missing, std::uint64_t* found) {
  gather<4>(columns, size, active, rows, missing, found);
}
void gather8(const NodeId* columns, std::size_t size, const std::uint64_t* active, const std::uint64_t* rows,
             const std::uint64_t* missing, std::uint64_t* found) {
  gather<8>(columns, size, active, rows, missing, found);
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph::multi_source_cpu {
namespace {
HWY_EXPORT(gather1);
HWY_EXPORT(gather2);
HWY_EXPORT(gather4);
HWY_EXPORT(gather8);
}  // namespace

GatherRows gather_rows(std::size_t words) {
  // Until it is known what the processor has, the tables' entries find that out at every call.
  if (!hwy::GetChosenTarget().IsInitialized()) hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  switch (words) {
    case 1: return &HWY_DYNAMIC_DISPATCH(gather1);
    case 2: return &HWY_DYNAMIC_DISPATCH(gather2);
    case 4: return &HWY_DYNAMIC_DISPATCH(gather4);
    default: return &HWY_DYNAMIC_DISPATCH(gather8);
  }
}

}  // namespace bitgraph::multi_source_cpu
#endif
