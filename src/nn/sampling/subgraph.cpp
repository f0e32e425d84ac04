// SPDX-License-Identifier: Apache-2.0
#include "nn/sampling/subgraph.hpp"

#include <bitgraph/core/error.hpp>

#include "nn/sampling/draws.hpp"

#include <fmt/format.h>

#include <utility>

namespace bitgraph::nn {

CsrPattern induced_subgraph(const CsrPattern& graph, std::span<const NodeId> nodes) {
  require(graph.nrows() == graph.ncols(), "induced subgraph: the graph is not square");
  require(graph.device().is_host(), "induced subgraph: the graph has to be on the host");
  NodeSet set(graph.nrows());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n] >= graph.nrows() || (n > 0 && nodes[n] <= nodes[n - 1])) {
      fail(ErrorCode::usage,
           fmt::format("induced subgraph: element {} is node {}, expected nodes of a graph of {} in rising order", n,
                       nodes[n], graph.nrows()));
    }
    set.add(nodes[n]);
  }
  (void)set.number(graph.device());
  ReusedPattern pattern;
  induce(pattern, graph, nodes, set, graph.device(), [](EdgeOffset, EdgeOffset) {});
  return pattern.get().clone();
}

void shuffle_into(std::vector<NodeId>& out, std::span<const NodeId> nodes, std::uint64_t seed, std::uint32_t epoch) {
  out.assign(nodes.begin(), nodes.end());
  const RandomKey key{seed, static_cast<std::uint32_t>(Draw::order), epoch};
  for (std::size_t n = out.size(); n > 1; --n) std::swap(out[n - 1], out[random_below(key, n, n)]);
}

}  // namespace bitgraph::nn
