// SPDX-License-Identifier: Apache-2.0
// What readers of data sets of many small graphs have in common.
#pragma once

#include <bitgraph/io/dataset.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace bitgraph {

/// Many graphs as they are read, one after the other.
struct GraphList {
  std::vector<NodeId> first_node{0};      ///< as in Dataset
  std::vector<NodeId> from, to;           ///< edges between nodes of the whole; loops and doubles may be among them
  std::vector<std::int64_t> node_labels;  ///< one a node; empty: there are none

  [[nodiscard]] std::size_t num_graphs() const noexcept { return first_node.size() - 1; }

  /// Begins another graph and returns its first node. Throws bad_input naming the file where it has no node, or all
  /// together have 2^32 - 1.
  NodeId add_graph(std::uint64_t num_nodes, const std::string& name);
};

/// Features of nodes without labels: the degree, or `most_degree` where it is larger.
inline constexpr NodeId most_degree = 63;

/// The graphs as one, undirected and without loops, and features with one 1 a node: its label, each different label
/// being a column, in order; or, where there are no labels, its degree, with most_degree + 1 columns. Classes are set
/// by the caller. O(edges log edges + nodes log nodes).
[[nodiscard]] Dataset dataset_of(const GraphList& list, const Device& device);

}  // namespace bitgraph
