// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce/cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/reduce/reduce.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

std::size_t count_words(const std::uint64_t* words, std::size_t n) {
  const hn::ScalableTag<std::uint64_t> d;
  auto counts = hn::Zero(d);
  std::size_t w = 0;
  for (; w + hn::Lanes(d) <= n; w += hn::Lanes(d)) {
    counts = hn::Add(counts, hn::PopulationCount(hn::LoadU(d, words + w)));
  }
  auto sum = static_cast<std::size_t>(hn::GetLane(hn::SumOfLanes(d, counts)));
  for (; w < n; ++w) sum += hwy::PopCount(words[w]);
  return sum;
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph::reduce_cpu {
namespace {
HWY_EXPORT(count_words);
}  // namespace

std::size_t count_words(const std::uint64_t* words, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(count_words)(words, n);
}

}  // namespace bitgraph::reduce_cpu
#endif  // HWY_ONCE
