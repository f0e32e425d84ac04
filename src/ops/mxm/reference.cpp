// SPDX-License-Identifier: Apache-2.0
#include "formats/rows.hpp"
#include "ops/mxm/instances.hpp"
#include "ops/mxm/mxm.hpp"

#include <vector>

namespace bitgraph {

namespace {

/// counts[j] = how many k have a(i, k) and b(k, j), 0 where the mask hides j.
template <class Graph>
std::vector<std::uint32_t> product_row(const ProductArgs<Graph>& args, NodeId i) {
  std::vector<std::uint32_t> counts(args.b.ncols);
  for_each_entry(args.a, i, [&](NodeId k) { for_each_entry(args.b, k, [&](NodeId j) { ++counts[j]; }); });
  if (args.mask_use != MaskUse::none) {
    std::vector<bool> marked(args.b.ncols);
    for_each_entry(args.mask, i, [&](NodeId j) { marked[j] = true; });
    for (std::size_t j = 0; j < counts.size(); ++j) {
      if (marked[j] != (args.mask_use == MaskUse::inside)) counts[j] = 0;
    }
  }
  return counts;
}

}  // namespace

template <class Graph>
std::uint64_t masked_sum(const Reference&, const MaskedSumArgs<Graph>& args) {
  std::uint64_t sum = 0;
  for (NodeId i = 0; i < args.mask.nrows; ++i) {
    for_each_entry(args.mask, i, [&](NodeId j) {
      for_each_entry(args.x, i,
                     [&](NodeId k) { for_each_entry(args.b, j, [&](NodeId other) { sum += k == other ? 1U : 0U; }); });
    });
  }
  return sum;
}

template <class Graph>
void product_sizes(const Reference&, const ProductArgs<Graph>& args, EdgeOffset* sizes) {
  for (NodeId i = 0; i < args.a.nrows; ++i) {
    sizes[i] = 0;
    for (const std::uint32_t count : product_row(args, i)) sizes[i] += count == 0 ? 0U : 1U;
  }
}

template <class Graph>
void product_fill(const Reference&, const ProductArgs<Graph>& args, const ProductOut& out) {
  for (NodeId i = 0; i < args.a.nrows; ++i) {
    const std::vector<std::uint32_t> counts = product_row(args, i);
    EdgeOffset to = out.row_ptr[i];
    for (std::size_t j = 0; j < counts.size(); ++j) {
      if (counts[j] == 0) continue;
      out.col_ind[to] = static_cast<NodeId>(j);
      if (out.counts != nullptr) out.counts[to] = counts[j];
      ++to;
    }
  }
}

[[gnu::used]] constexpr auto mxm_reference_sums = masked_sum_kernels<Reference>();
[[gnu::used]] constexpr auto mxm_reference_products = product_kernels<Reference>(GraphViews());

}  // namespace bitgraph
