// SPDX-License-Identifier: Apache-2.0
// A packed graph's edges brought to the host, for what is prepared there.
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

namespace bitgraph {

/// The out-edges as a pattern on the host, rows numbered as in memory.
inline CsrPattern pattern_on_host(const PackedGraph& graph) {
  const Device host = graph.device().is_host() ? graph.device() : Device{};
  if (const auto* csr = std::get_if<CsrPattern>(&graph.out())) return csr->to(host);
  return unpack(std::get<BitTileMatrix>(graph.out()).to(host));
}

}  // namespace bitgraph
