// SPDX-License-Identifier: Apache-2.0
// The vote over a graph in SELL-C-sigma whose columns are not cut.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/spmm/cpu/sell.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/spmm/cpu/kernels.hpp"
#include "ops/spmm/cpu/sell-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

using spmm_cpu::Sink;

template <class Finish>
void vote(const SellView& a, const SellPart& part, const BitsIn& x, const Finish& finish) {
  for_each_word_block<Finish::wants_known_stride>(x.words_per_row, [&](auto n, auto stride, std::size_t word) {
    if (a.short_col_ind != nullptr) {
      count_part<n(), stride(), std::uint16_t>(a, part, x, word, finish);
    } else {
      count_part<n(), 0, NodeId>(a, part, x, word, finish);
    }
  });
  for (std::size_t n = part.first_chunk * SellView::lanes; n < part.end_chunk * SellView::lanes; ++n) {
    if (a.degrees[n] == 0 && a.rows[n] != a.nrows) finish.finish_empty(a.rows[n]);
  }
}

void vote_to(const SellView& a, const SellPart& part, const BitsIn& x, const Sink& sink) {
  with_finish(sink, x.ncols, [&](const auto& finish) { vote(a, part, x, finish); });
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph::spmm_cpu {
namespace {
HWY_EXPORT(vote_to);
}  // namespace

void vote_chunks(const SellView& a, const SellPart& part, const BitsIn& x, const Sink& sink) {
  HWY_DYNAMIC_DISPATCH(vote_to)(a, part, x, sink);
}

}  // namespace bitgraph::spmm_cpu
#endif  // HWY_ONCE
