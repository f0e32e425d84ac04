// SPDX-License-Identifier: Apache-2.0
// Graphs that one parameter defines: Mycielskian graphs by their order, de Bruijn graphs by their scale.
#include <bitgraph/core/error.hpp>
#include <bitgraph/graph/generate.hpp>

#include "core/preconditions.hpp"
#include "core/threads/parallel.hpp"
#include "graph/generate/edges.hpp"

namespace bitgraph {

CsrPattern generate_mycielskian(int order, const Device& device) {
  require_host(device, "generate_mycielskian");
  require(order >= 2 && order <= 20, "mycielskian: the order must be between 2 and 20");
  GeneratedEdges edges(1);
  edges.cols[0] = 1;
  NodeId n = 2;
  for (int step = 2; step < order; ++step, n = 2 * n + 1) {
    const std::size_t before = edges.rows.size();
    edges.rows.resize(3 * before + n);
    edges.cols.resize(3 * before + n);
    parallel_for(device, before, generator_grain, [&](std::size_t e) {
      const NodeId i = edges.rows[e];
      const NodeId j = edges.cols[e];
      edges.rows[before + 2 * e] = n + i;
      edges.cols[before + 2 * e] = j;
      edges.rows[before + 2 * e + 1] = n + j;
      edges.cols[before + 2 * e + 1] = i;
    });
    for (NodeId copy = 0; copy < n; ++copy) {
      edges.rows[3 * before + copy] = 2 * n;
      edges.cols[3 * before + copy] = n + copy;
    }
  }
  return edges.symmetric(n, device);
}

CsrPattern generate_de_bruijn(int scale, const Device& device) {
  require_host(device, "generate_de_bruijn");
  require(scale >= 1 && scale <= 31, "de Bruijn: the scale must be between 1 and 31");
  const std::size_t n = std::size_t{1} << scale;
  GeneratedEdges edges(2 * n);
  parallel_for(device, n, generator_grain, [&](std::size_t i) {
    for (const std::size_t bit : {0, 1}) {
      edges.rows[2 * i + bit] = static_cast<NodeId>(i);
      edges.cols[2 * i + bit] = static_cast<NodeId>((2 * i + bit) % n);
    }
  });
  return edges.symmetric(static_cast<NodeId>(n), device);
}

}  // namespace bitgraph
