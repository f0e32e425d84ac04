// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bitgraph {

/// The formula that makes a score of the distances to a node.
enum class ClosenessScore {
  improved,    ///< Wasserman and Faust: r / sum * r / others; comparable between components
  unimproved,  ///< r / sum: the inverse of the mean distance within what reaches the node
  harmonic,    ///< the sum of 1 / distance
};

struct ClosenessOptions {
  ClosenessScore score = ClosenessScore::improved;
  std::span<const NodeId> sources;  ///< where paths start, in the caller's numbering, each once; empty: see samples
  std::size_t samples = 0;          ///< without sources: the number of different nodes drawn at random; 0: all nodes
  std::uint64_t seed = 0;           ///< of the draw
};

/// Closeness centrality of every node, from the lengths of the paths that lead to it. NetworkX has the same as
/// closeness_centrality and harmonic_centrality. For paths that lead away from the node, pack the transpose. Edges have
/// length 1.
///
/// ClosenessScore has the formulas. There `others` is the number of sources without the node itself, r the number of
/// these that reach the node, and sum the sum of their distances. The score is 0 for a node that no other source
/// reaches. With all nodes as sources, the default, the score is exact. With fewer sources it is an estimate (Eppstein
/// and Wang, "Fast approximation of centrality", SODA 2001); a harmonic score is then multiplied by (n - 1) / others.
///
/// The result has n elements in the caller's numbering, on the graph's device. Distances are added up as integers. On
/// the host the result is bit-identical for every format, order and number of threads. A CUDA device gives the same
/// result, but harmonic sums are rounded differently.
///
/// The host searches from 512 sources at a time (multi_source_bfs) and takes 230 bytes a node. A CUDA device searches
/// from 64 sources at a time and takes 290 bytes a node, and as many on the host. Throws usage for a source outside the
/// graph and for a source given twice; not_possible on a CUDA device for a directed graph that was packed without its
/// transpose. O(sources / 512 levels (n + m)) at most.
[[nodiscard]] Buffer<double> closeness(const PackedGraph& graph, const ClosenessOptions& options = {});

}  // namespace bitgraph
