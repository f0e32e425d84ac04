// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace bitgraph {

/// Many graphs as one: their matrices along the diagonal of a larger one, and nothing between them.
struct BlockDiagonal {
  CsrPattern pattern;
  /// One more than graphs. Nodes first_node[g] .. first_node[g + 1] - 1 are those of graph g, in its order.
  std::vector<NodeId> first_node{0};

  [[nodiscard]] std::size_t num_graphs() const noexcept { return first_node.size() - 1; }
  /// The graph of each node: what a pooling over the nodes of a graph adds up by. O(nodes).
  [[nodiscard]] std::vector<NodeId> graph_of() const;
};

/// A batch of many small graphs, on which one product computes what one product a graph would: an aggregation never
/// leaves its graph. Rows keep their columns, so the results of the products are the same bits. Graphs may be empty;
/// none give 0 x 0. Throws usage, naming the graph, unless all are square and on the host; not_possible where they
/// have 2^32 - 1 nodes together. O(nodes + entries), parallel.
[[nodiscard]] BlockDiagonal block_diagonal(std::span<const CsrPattern> graphs, const Device& device = {});

/// The 0/1 matrix R of graphs x nodes: entry (g, i) where node i is of graph g. `spmm(R, x)` is the readout of Xu et
/// al. 2019, the sum of x over the nodes of each graph, and `spmm(transpose(R), y)` its gradient, which gives each node
/// the row of its graph. `first_node` as in BlockDiagonal. On the host. O(nodes).
[[nodiscard]] CsrPattern readout_matrix(std::span<const NodeId> first_node, const Device& device = {});

}  // namespace bitgraph
