// SPDX-License-Identifier: Apache-2.0
// A packed graph's out-edges as a pattern again, where it lives, for what is prepared from them.
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

namespace bitgraph {

/// Rows are numbered as in memory. A pattern CSR is shared with the graph, not copied.
inline CsrPattern pattern_of(const PackedGraph& graph) {
  const auto* csr = std::get_if<CsrPattern>(&graph.out());
  return csr != nullptr ? csr->share() : unpack(std::get<BitTileMatrix>(graph.out()));
}

/// The in-edges of a graph that was packed without them.
inline CsrPattern transposed(const PackedGraph& graph) {
  const auto* csr = std::get_if<CsrPattern>(&graph.out());
  return csr != nullptr ? transpose(*csr) : transpose(unpack(std::get<BitTileMatrix>(graph.out())));
}

}  // namespace bitgraph
