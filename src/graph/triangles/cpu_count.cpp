// SPDX-License-Identifier: Apache-2.0
// The nodes that two lists share. The list of the later node is marked as bits once. The list of the earlier node is
// then looked up in the marks, or its bit row is ANDed with them. Short rows are compared in registers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "graph/triangles/cpu_count.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "graph/triangles/cpu.hpp"
#include "ops/cpu_marks-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<std::uint64_t, bit_block / 64>;

/// Bits that two rows of whole blocks share, a counter a lane.
HWY_INLINE hn::Vec<Words> count_both(const std::uint64_t* x, const std::uint64_t* y, std::size_t blocks,
                                     hn::Vec<Words> counts) {
  const Words d;
  for (std::size_t w = 0; w < blocks * (bit_block / 64); w += hn::Lanes(d)) {
    counts = hn::Add(counts, hn::PopulationCount(hn::And(hn::LoadU(d, x + w), hn::LoadU(d, y + w))));
  }
  return counts;
}

/// How many rows of a list are brought while the node before is counted; the others come a few rows ahead.
constexpr std::size_t early_rows = 24;
constexpr std::size_t rows_ahead = 8;
constexpr std::size_t line_nodes = 64 / sizeof(NodeId);

HWY_INLINE void prefetch_row(const OrientedView& a, NodeId v) {
  if (v < a.num_bit_rows) {
    const std::uint64_t* bits = a.bits + blocks_before(v) * (bit_block / 64);
    hwy::Prefetch(bits);
    hwy::Prefetch(bits + bit_block / 64);
  } else {
    const NodeId* row = a.cols + a.start[v];
    hwy::Prefetch(row);
    if (a.low[v] > line_nodes) hwy::Prefetch(row + line_nodes);
  }
}

/// Where the rows of node u's list are, for prefetch_rows() to read.
HWY_INLINE void prefetch_places(const OrientedView& a, std::size_t u) {
  const NodeId* list = a.cols + a.start[u];
  const std::size_t size = HWY_MIN(a.low[u], early_rows);
  for (std::size_t e = 0; e < size; ++e) {
    if (list[e] < a.num_bit_rows) continue;
    hwy::Prefetch(a.start + list[e]);
    hwy::Prefetch(a.low + list[e]);
  }
}

HWY_INLINE void prefetch_rows(const OrientedView& a, std::size_t u) {
  const NodeId* list = a.cols + a.start[u];
  const std::size_t size = HWY_MIN(a.low[u], early_rows);
  if (size < 2) return;
  for (std::size_t e = 0; e < size; ++e) prefetch_row(a, list[e]);
}

HWY_INLINE std::uint64_t count_node(const OrientedView& a, std::size_t u, std::uint64_t* marks) {
  const Words d;
  const NodeId* list = a.cols + a.start[u];
  const std::size_t size = a.low[u];
  if (size < 2) return 0;
  set_marks(marks, list, size);
  MarkCounter counter(marks);
  auto counts = hn::Zero(d);
  for (std::size_t e = 0; e < size; ++e) {
    if (e + rows_ahead >= early_rows && e + rows_ahead < size) prefetch_row(a, list[e + rows_ahead]);
    const NodeId v = list[e];
    if (v < a.num_bit_rows) {
      counts = count_both(marks, a.bits + blocks_before(v) * (bit_block / 64), blocks_of(v), counts);
    } else {
      counter.add(a.cols + a.start[v], a.low[v]);
    }
  }
  clear_marks(marks, list, size);
  return counter.total() + hn::GetLane(hn::SumOfLanes(d, counts));
}

/// What a node needs is asked for two nodes ahead: first where its rows are, then the rows.
std::uint64_t count_nodes(const OrientedView& a, std::size_t begin, std::size_t end, std::uint64_t* marks) {
  std::uint64_t sum = 0;
  for (std::size_t u = begin; u < end; ++u) {
    if (u + 2 < end) prefetch_places(a, u + 2);
    if (u + 1 < end) prefetch_rows(a, u + 1);
    sum += count_node(a, u, marks);
  }
  return sum;
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
/// A row of at most short_row nodes in registers. Empty lanes hold no node.
class ShortRow {
 public:
  HWY_INLINE ShortRow(const NodeId* row, std::size_t size) {
    const D d;
    for (std::size_t v = 0; v < vectors; ++v) {
      const auto mask = hn::FirstN(d, size > v * lanes ? size - v * lanes : 0);
      nodes_[v] = hn::IfThenElse(mask, hn::MaskedLoad(mask, d, row + v * lanes), hn::Set(d, ~NodeId{0}));
    }
  }
  /// 1 where the row has the node.
  [[nodiscard]] HWY_INLINE std::size_t has(NodeId node) const {
    const D d;
    const auto wanted = hn::Set(d, node);
    std::size_t found = 0;
    for (std::size_t v = 0; v < vectors; ++v) found += hn::CountTrue(d, hn::Eq(nodes_[v], wanted));
    return found;
  }

 private:
  using D = hn::CappedTag<NodeId, short_row>;
  static constexpr std::size_t lanes = HWY_MIN(HWY_LANES(NodeId), short_row);
  static constexpr std::size_t vectors = short_row / lanes;
  hn::Vec<D> nodes_[vectors];
};
#else
class ShortRow {
 public:
  HWY_INLINE ShortRow(const NodeId* row, std::size_t size) : row_(row), size_(size) {}
  [[nodiscard]] HWY_INLINE std::size_t has(NodeId node) const {
    std::size_t found = 0;
    for (std::size_t e = 0; e < size_; ++e) found += row_[e] == node ? 1U : 0U;
    return found;
  }

 private:
  const NodeId* row_;
  std::size_t size_;
};
#endif

std::uint64_t count_in_short_rows(const CsrPatternView& a, std::size_t begin, std::size_t end) {
  std::uint64_t sum = 0;
  for (std::size_t u = begin; u < end; ++u) {
    const NodeId* row = a.col_ind + a.row_ptr[u];
    const NodeId* row_end = a.col_ind + a.row_ptr[u + 1];
    if (row == row_end) continue;
    // Rows are sorted: nodes below u come first, and of them those below v before v.
    for (const NodeId* v = row + 1; v < row_end && *v < u; ++v) {
      const ShortRow other(a.col_ind + a.row_ptr[*v], static_cast<std::size_t>(a.row_ptr[*v + 1] - a.row_ptr[*v]));
      for (const NodeId* w = row; w < v; ++w) sum += other.has(*w);
    }
  }
  return sum;
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph::triangles_cpu {
namespace {
HWY_EXPORT(count_nodes);
HWY_EXPORT(count_in_short_rows);
}  // namespace

std::uint64_t count_range(const OrientedView& a, std::size_t begin, std::size_t end, std::uint64_t* marks) {
  return HWY_DYNAMIC_DISPATCH(count_nodes)(a, begin, end, marks);
}

std::uint64_t count_short_rows(const CsrPatternView& a, std::size_t begin, std::size_t end) {
  return HWY_DYNAMIC_DISPATCH(count_in_short_rows)(a, begin, end);
}

}  // namespace bitgraph::triangles_cpu
#endif  // HWY_ONCE
