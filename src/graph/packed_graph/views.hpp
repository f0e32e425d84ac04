// SPDX-License-Identifier: Apache-2.0
// Both directions of a packed graph as views of one type.
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

namespace bitgraph {

/// The view of a matrix that is in the format of `like`.
inline CsrPatternView view_like(const CsrPatternView&, const PackedGraph::Matrix& matrix) {
  return std::get<CsrPattern>(matrix).view();
}

template <int K>
BitTileView<K> view_like(const BitTileView<K>&, const PackedGraph::Matrix& matrix) {
  return std::get<BitTileMatrix>(matrix).view<K>();
}

/// Calls fn(out, in), views of one type: a packed graph's directions have one format. `in` is `out` again where the
/// graph is symmetric or was packed without the other direction.
template <class Fn>
decltype(auto) with_views(const PackedGraph& graph, Fn&& fn) {
  return with_view(graph.out(), [&](const auto& out) -> decltype(auto) {
    return fn(out, view_like(out, graph.has_in() ? graph.in() : graph.out()));
  });
}

}  // namespace bitgraph
