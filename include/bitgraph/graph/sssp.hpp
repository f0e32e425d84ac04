// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/graph/bfs.hpp>
#include <bitgraph/graph/weighted_graph.hpp>

#include <cstdint>
#include <memory>

namespace bitgraph {

template <class Distance>
class CudaSssp;

struct SsspOptions {
  NodeId source = 0;  ///< in the caller's numbering
  double delta = 0;   ///< width of a bucket, in units of the weights (a power of two is taken for whole ones);
                      ///< 0: chosen from degrees and weights
};

/// Lengths of shortest paths, by the caller's numbers of the nodes.
template <class Distance>
struct SsspResult {
  Buffer<Distance> distance;  ///< unreached<Distance>() (largest integer, or infinity) where there is no path
  NodeId reached = 0;         ///< nodes with a distance, the source among them
};

/// Shortest paths from one node where every edge is 1 long. All nodes of a level are at one distance, so this is the
/// breadth-first search of bfs.hpp. Throws usage for a source outside the graph. O(n + m).
[[nodiscard]] SsspResult<std::int32_t> sssp(const PackedGraph& graph, const SsspOptions& options = {});

/// Shortest paths from one node by delta-stepping (Meyer and Sanders 2003): nodes are settled in buckets of distance,
/// those of one bucket in any order, by all threads where there are many.
///
/// Distance is std::int32_t for whole weights; a distance of 2^31 - 1 or more counts as unreached. It is float for real
/// ones (or whole ones, which are exact up to 2^24): the least, over all paths, of the path's weights added up from the
/// source on, each sum rounded. Either way the result does not depend on delta, the threads, the format or the
/// instruction set.
///
/// Throws usage for a source outside the graph, integer distances of real weights, and a negative delta.
/// O((n + m) log) for random weights and a good delta.
template <class Distance>
[[nodiscard]] SsspResult<Distance> sssp(const WeightedGraph& graph, const SsspOptions& options = {});

/// Searches one after another over one graph: memory is taken when it is made, not by run(). The bit planes are
/// unpacked into a byte an entry there. On a CUDA device the distances are there too, and tiles are unpacked.
template <class Distance>
class SsspSearch {
 public:
  /// Refers to `graph`, which must outlive it. O(n + m).
  explicit SsspSearch(const WeightedGraph& graph);

  /// As sssp(). The result is good until the next call.
  const SsspResult<Distance>& run(const SsspOptions& options = {});

  /// The result of the last run, moved out. The search is of no use afterwards.
  [[nodiscard]] SsspResult<Distance> take() && { return std::move(result_); }

 private:
  using Weight = std::conditional_t<std::is_same_v<Distance, float>, float, std::uint8_t>;

  const WeightedGraph* graph_;
  Buffer<Weight> own_weights_;
  const Weight* weights_ = nullptr;
  Buffer<Distance> row_distance_;  ///< by row, where rows are in another order than the caller's nodes
  Buffer<Distance> settled_;
  Buffer<NodeId> chunks_;
  Buffer<NodeId> buckets_;
  SsspResult<Distance> result_;
  std::shared_ptr<CudaSssp<Distance>> on_cuda_;
};

}  // namespace bitgraph
