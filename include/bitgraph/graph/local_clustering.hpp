// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/graph/packed_graph.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace bitgraph {

struct LocalClusterOptions {
  double teleport = 0.15;  ///< probability that the walk goes back to a seed; above 0, below 1
  double epsilon = 1e-6;   ///< rank a neighbour that may stay unspread: smaller reaches farther. Above 0
};

struct LocalCluster {
  std::vector<NodeId> members;  ///< best first, in the caller's numbering
  double conductance = 1;       ///< edges that leave, over the smaller of the degrees inside and outside; 0 to 1
  std::vector<NodeId> nodes;    ///< those that the walk came to, by falling rank over degree
  std::vector<double> scores;   ///< their ranks
};

/// Local graph clustering (LGC of Bit-GraphBLAS, section V): the cluster around seed nodes, found by looking at its
/// surroundings only. Approximate personalised PageRank by pushes, then the best prefix of a sweep by rank over degree
/// (Andersen, Chung, Lang 2006). Edges are taken both ways, those that are there in both directions of a directed graph
/// twice; loops do not count. At most 1 / (epsilon teleport) neighbours are visited, however large the graph.
///
/// One thread: a push changes what the next one finds. The order of pushes is fixed, and with it the result. A graph on
/// a CUDA device is brought to the host when the search is made, and the walk is done there: the same cluster.
class LocalClusterSearch {
 public:
  /// `graph` must outlive this; a directed one must be packed with in-edges. O(n + m), once. Throws usage for options
  /// out of range.
  explicit LocalClusterSearch(const PackedGraph& graph, const LocalClusterOptions& options = {});

  /// The seeds share the walk's start evenly. Throws usage where there is none or one is not a node.
  [[nodiscard]] LocalCluster run(std::span<const NodeId> seeds);

 private:
  void sweep(LocalCluster& cluster);
  [[nodiscard]] const PackedGraph& edges() const noexcept { return brought_ ? *brought_ : graph_; }

  const PackedGraph& graph_;
  std::shared_ptr<const PackedGraph> brought_;  // its rows on the host, where it is not
  LocalClusterOptions options_;
  Buffer<EdgeOffset> degree_;       // of rows
  Buffer<double> rank_, residual_;  // zero between runs
  Buffer<unsigned char> mark_;      // zero between runs
  std::vector<NodeId> touched_, queue_;
  EdgeOffset volume_ = 0;  // sum of all degrees
};

/// The same, once.
[[nodiscard]] LocalCluster local_cluster(const PackedGraph& graph, std::span<const NodeId> seeds,
                                         const LocalClusterOptions& options = {});

}  // namespace bitgraph
