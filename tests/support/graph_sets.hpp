// SPDX-License-Identifier: Apache-2.0
// Data sets of many small graphs.
#pragma once

#include <bitgraph/core/random.hpp>
#include <bitgraph/io/dataset.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace bitgraph::test {

struct RingsAndStars {
  std::size_t graphs = 60;
  NodeId features = 3;
  std::uint64_t seed = 1;
};

/// Rings (class 0) and stars (class 1) of 4 to 12 nodes, which tell nothing of the class by their features: a third of
/// these is set, at random, the first at every node. Nodes have two neighbours on average in either class.
inline Dataset rings_and_stars(const RingsAndStars& o) {
  Dataset set{.name = "rings", .num_classes = 2};
  std::vector<NodeId> from, to, rows, cols;
  set.first_node = {0};
  for (std::size_t g = 0; g < o.graphs; ++g) {
    const auto nodes = static_cast<NodeId>(4 + random_below({o.seed, 1, 0}, g, 9));
    const NodeId first = set.first_node.back();
    const bool star = g % 2 == 1;
    for (NodeId i = 0; i < nodes; ++i) {
      from.push_back(first + i);
      to.push_back(star ? first : first + (i + 1) % nodes);
    }
    set.first_node.push_back(first + nodes);
    set.labels.push_back(star ? 1 : 0);
  }
  const NodeId n = set.first_node.back();
  for (NodeId i = 0; i < n; ++i) {
    for (NodeId j = 0; j < o.features; ++j) {
      if (j != 0 && random_below({o.seed, 2, i}, j, 3) != 0) continue;
      rows.push_back(i);
      cols.push_back(j);
    }
  }
  set.graph = csr_from_edges(n, n, from, to, {.symmetrize = true, .drop_loops = true});
  set.features.pattern = csr_from_edges(n, o.features, rows, cols);
  set.features.values = Buffer<float>(set.features.pattern.nvals(), 1.0F);
  return set;
}

}  // namespace bitgraph::test
