// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace bitgraph {

class CudaLocalWalk;
class LocalWalk;

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
/// Pushes run in rounds: all nodes that have found enough take it, then give it on. Rank is counted in whole numbers,
/// of which 2^62 are all of it, so that the cluster does not depend on who adds first: on a CUDA device, where the walk
/// runs too, it is the same. One thread on the host.
class LocalClusterSearch {
 public:
  /// `graph` must outlive this; a directed one must be packed with in-edges. O(n + m), once. Throws usage for options
  /// out of range.
  explicit LocalClusterSearch(const PackedGraph& graph, const LocalClusterOptions& options = {});

  /// The seeds share the walk's start evenly. Throws usage where there is none or one is not a node.
  [[nodiscard]] LocalCluster run(std::span<const NodeId> seeds);

 private:
  template <class Fn>
  auto with_walk(const Fn& fn);

  const PackedGraph& graph_;
  std::shared_ptr<LocalWalk> on_host_;
  std::shared_ptr<CudaLocalWalk> on_cuda_;
};

/// The same, once.
[[nodiscard]] LocalCluster local_cluster(const PackedGraph& graph, std::span<const NodeId> seeds,
                                         const LocalClusterOptions& options = {});

}  // namespace bitgraph
