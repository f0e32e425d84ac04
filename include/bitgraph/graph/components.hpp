// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/graph/packed_graph.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace bitgraph {

class CudaComponents;
class CudaStrongComponents;

/// A partition of the nodes into components.
struct Components {
  Buffer<NodeId> label;  ///< of each node: the smallest node id of its component
  NodeId count = 0;
};

/// Connected components of the undirected graph (the union of both directions). Union-find with path halving.
/// Square only (throws usage), and on the host (else not_possible: pack the graph). O(n + m), nearly.
[[nodiscard]] Components connected_components(const CsrPattern& a);

/// Connected components of a packed graph, edges taken both ways. A call of run() allocates nothing.
///
/// Afforest (Sutton, Ben-Nun, Barak 2018): a few edges of every node first; then the nodes outside the largest
/// component so found give all their edges, and the others need not. Here the first edge is that to the smallest
/// neighbour, which needs no atomic operation: every node points to a smaller one. Directed graphs are as fast only
/// where they were packed with_transpose. O(n + m) at most, nearly; on most graphs far less.
///
/// On a CUDA device the labels are there too, and tiles are unpacked when the search is made.
class ComponentSearch {
 public:
  /// `graph` must outlive this.
  explicit ComponentSearch(const PackedGraph& graph);

  /// Labels are node ids of the caller's numbering, the same for any number of threads, format and order.
  const Components& run();

  /// Hands the last run's result over; the next run makes room anew.
  [[nodiscard]] Components take() { return std::move(result_); }

 private:
  const PackedGraph& graph_;
  Components result_;
  Buffer<NodeId> parent_, smallest_;  // of rows; only where the order was changed
  std::shared_ptr<CudaComponents> on_cuda_;
};

/// The same, once.
[[nodiscard]] Components connected_components(const PackedGraph& graph);

/// Strongly connected components: nodes that reach one another along edges. Out-edges only are needed. A call of run()
/// allocates nothing.
///
/// One walk in depth on one thread (Tarjan 1972, without recursion): O(n + m) whatever the graph; those that run in
/// parallel take as many passes as there are components on a path. A symmetric graph is given to ComponentSearch.
///
/// On a CUDA device the labels are there, and colours run along edges and back (src/graph/strong_components/cuda.cu):
/// as many steps as paths are long, some log n times. In-edges are made where the graph was packed without them.
class StrongComponentSearch {
 public:
  /// `graph` must outlive this.
  explicit StrongComponentSearch(const PackedGraph& graph);

  const Components& run();

  /// Hands the last run's result over; the next run makes room anew.
  [[nodiscard]] Components take() { return std::move(result_); }

 private:
  const PackedGraph& graph_;
  Buffer<NodeId> component_, lowest_, stack_, smallest_;
  Buffer<std::uint64_t> frames_;
  Components result_;
  std::shared_ptr<CudaStrongComponents> on_cuda_;
};

/// The same, once.
[[nodiscard]] Components strongly_connected_components(const PackedGraph& graph);

}  // namespace bitgraph
