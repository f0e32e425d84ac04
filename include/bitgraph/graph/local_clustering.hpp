// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

#include <memory>
#include <span>
#include <vector>

namespace bitgraph {

struct LocalClusterOptions {
  double teleport = 0.15;  ///< probability that the walk goes back to a seed; above 0, below 1
  double epsilon = 1e-6;   ///< rank a neighbour that may stay unspread; smaller reaches farther; above 0
};

struct LocalCluster {
  std::vector<NodeId> members;  ///< best first, in the caller's numbering
  double conductance = 1;       ///< edges that leave, over the smaller of the degrees inside and outside; 0 to 1
  std::vector<NodeId> nodes;    ///< all nodes that the walk reached, by falling rank over degree
  std::vector<double> scores;   ///< their ranks
};

class LocalWalkEngine;

/// Local graph clustering (LGC of Bit-GraphBLAS, section V): the cluster around seed nodes. The method looks at the
/// surroundings of the seeds only. It approximates personalised PageRank by pushes, sorts the nodes by rank over
/// degree, and takes the prefix of least conductance (Andersen, Chung, Lang 2006). Both directions of the edges count,
/// so two opposite edges of a directed graph count twice; loops do not count. A run visits at most 1 / (epsilon
/// teleport) neighbours, however large the graph is.
///
/// Pushes run in rounds: all nodes with enough rank take it, then pass it on. Rank is counted in whole numbers, 2^62 in
/// all, so the cluster does not depend on the order of additions. It is the same on a CUDA device, which runs the walk
/// too. On the host one thread walks.
class LocalClustering {
 public:
  /// `graph` must outlive this object. Throws usage for a directed graph that was packed without in-edges, and for
  /// options out of range. O(n + m).
  explicit LocalClustering(const PackedGraph& graph, const LocalClusterOptions& options = {});
  LocalClustering(LocalClustering&&) noexcept;
  LocalClustering& operator=(LocalClustering&&) noexcept;
  ~LocalClustering();

  /// The walk starts from the seeds, each with an equal share. Throws usage for no seeds, and for a seed outside the
  /// graph.
  [[nodiscard]] LocalCluster run(std::span<const NodeId> seeds);

 private:
  const PackedGraph* graph_;
  std::unique_ptr<LocalWalkEngine> walk_;
};

/// One run of LocalClustering.
[[nodiscard]] LocalCluster local_cluster(const PackedGraph& graph, std::span<const NodeId> seeds,
                                         const LocalClusterOptions& options = {});

}  // namespace bitgraph
