// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/graph/bfs.hpp>
#include <bitgraph/graph/weighted_graph.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace bitgraph {

struct SsspOptions {
  NodeId source = 0;  ///< in the caller's numbering
  double delta = 0;   ///< width of a bucket in units of the weights; 0: chosen from degrees and weights. For whole
                      ///< weights the host rounds it down to a power of two
};

/// Lengths of shortest paths in the caller's numbering, on the graph's device.
template <class Distance>
struct SsspResult {
  Buffer<Distance> distance;  ///< n: unreached<Distance>() (largest integer, or infinity) where there is no path
  NodeId reached = 0;         ///< nodes with a distance, the source included
};

/// Shortest paths from one node where every edge has length 1. That is the breadth-first search of bfs.hpp, with its
/// errors. O(n + m).
[[nodiscard]] SsspResult<std::int32_t> sssp(const PackedGraph& graph, const SsspOptions& options = {});

/// Shortest paths from one node by delta-stepping (Meyer and Sanders 2003). Buckets of distance are settled one after
/// another. All threads settle the nodes of one bucket in any order, where there are many.
///
/// Distance is std::int32_t for whole weights: a distance of 2^31 - 1 or more counts as unreached. Distance is float
/// for real weights, or for whole ones, which are exact up to 2^24. The float distance is the least over all paths of
/// the path's weights, added up from the source on, each sum rounded. The result does not depend on delta, the threads,
/// the format, the device or the instruction set.
///
/// Throws usage for a source outside the graph, for integer distances of real weights, and for a negative delta;
/// not_possible on a CUDA device for 2^30 nodes or 2^34 edges. O((n + m) log) for random weights and a good delta.
template <class Distance>
[[nodiscard]] SsspResult<Distance> sssp(const WeightedGraph& graph, const SsspOptions& options = {});

template <class Distance>
class SsspEngine;

/// Repeated searches of one graph. The constructor allocates all memory and unpacks the bit planes of the weights, a
/// byte an entry (4 bytes for float distances). On a CUDA device it unpacks tiles too.
template <class Distance>
class ShortestPaths {
 public:
  /// `graph` must outlive this object. Throws as sssp() does, but for the options. O(n + m).
  explicit ShortestPaths(const WeightedGraph& graph);
  ShortestPaths(ShortestPaths&&) noexcept;
  ShortestPaths& operator=(ShortestPaths&&) noexcept;
  ~ShortestPaths();

  /// Searches as sssp() does. A repeated call allocates nothing and overwrites the result.
  const SsspResult<Distance>& run(const SsspOptions& options = {});

  /// Moves the result of the last run out. The next run() allocates it anew.
  [[nodiscard]] SsspResult<Distance> take() { return std::exchange(result_, {}); }

 private:
  const WeightedGraph* graph_;
  std::unique_ptr<SsspEngine<Distance>> engine_;
  SsspResult<Distance> result_;
};

}  // namespace bitgraph
