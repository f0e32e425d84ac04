// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/graph/packed_graph.hpp>

#include <memory>
#include <utility>

namespace bitgraph {

/// A partition of the nodes into components.
struct Components {
  Buffer<NodeId> label;  ///< n, in the caller's numbering: the smallest node of the node's component
  NodeId count = 0;      ///< components
};

/// Connected components of a pattern on the host. Both directions of the entries count. Union-find with path halving.
/// Throws usage unless the pattern is square; not_possible for a pattern on a CUDA device: pack the graph for that.
/// O(n + m), nearly.
[[nodiscard]] Components connected_components(const CsrPattern& a);

class ComponentsEngine;

/// Connected components of a packed graph. Both directions of the edges count.
///
/// The method is Afforest (Sutton, Ben-Nun, Barak 2018). A few edges of every node join trees first. Then the nodes
/// outside the largest component found so far give all their edges; the other nodes can skip theirs. Here the first
/// edge is the one to the smallest neighbour: every node points to a smaller node, so no atomic operation is needed. A
/// directed graph is as fast only where it was packed with_transpose. O(n + m) at most, nearly; far less on most
/// graphs.
///
/// The labels are the same for every format, order, device and number of threads. They are on the graph's device. On a
/// CUDA device the constructor unpacks tiles.
class ConnectedComponents {
 public:
  /// `graph` must outlive this object. O(n), or O(m) for tiles on a CUDA device.
  explicit ConnectedComponents(const PackedGraph& graph);
  ConnectedComponents(ConnectedComponents&&) noexcept;
  ConnectedComponents& operator=(ConnectedComponents&&) noexcept;
  ~ConnectedComponents();

  /// Finds the components. A repeated call allocates nothing and overwrites the result.
  const Components& run();

  /// Moves the result of the last run out. The next run() allocates it anew.
  [[nodiscard]] Components take() { return std::exchange(result_, {}); }

 private:
  const PackedGraph* graph_;
  std::unique_ptr<ComponentsEngine> engine_;
  Components result_;
};

/// One run of ConnectedComponents.
[[nodiscard]] Components connected_components(const PackedGraph& graph);

/// Strongly connected components: two nodes are in one component where each reaches the other along edges. Out-edges
/// are enough. For a symmetric graph ConnectedComponents gives the same labels faster.
///
/// On the host one thread makes one depth-first walk (Tarjan 1972, without recursion): O(n + m) for every graph.
/// Parallel methods take as many passes as there are components on a path.
///
/// On a CUDA device colours run along the edges and back (src/graph/strong_components/cuda.cu): as many steps as paths
/// are long, about log n times. The constructor makes the in-edges of a graph that was packed without them.
///
/// The labels are the same for every format, order and device. They are on the graph's device.
class StronglyConnectedComponents {
 public:
  /// `graph` must outlive this object. O(n), or O(m) on a CUDA device.
  explicit StronglyConnectedComponents(const PackedGraph& graph);
  StronglyConnectedComponents(StronglyConnectedComponents&&) noexcept;
  StronglyConnectedComponents& operator=(StronglyConnectedComponents&&) noexcept;
  ~StronglyConnectedComponents();

  /// Finds the components. A repeated call allocates nothing and overwrites the result.
  const Components& run();

  /// Moves the result of the last run out. The next run() allocates it anew.
  [[nodiscard]] Components take() { return std::exchange(result_, {}); }

 private:
  const PackedGraph* graph_;
  std::unique_ptr<ComponentsEngine> engine_;
  Components result_;
};

/// One run of StronglyConnectedComponents; of ConnectedComponents for a symmetric graph.
[[nodiscard]] Components strongly_connected_components(const PackedGraph& graph);

}  // namespace bitgraph
