// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bitgraph {

/// How the distances to a node become its score.
enum class ClosenessScore {
  improved,    ///< Wasserman and Faust: r / sum * r / others; comparable between components
  unimproved,  ///< r / sum: the inverse of the mean distance within what reaches the node
  harmonic,    ///< the sum of 1 / distance
};

struct ClosenessOptions {
  ClosenessScore score = ClosenessScore::improved;
  std::span<const NodeId> sources;  ///< where paths start, in the caller's numbering, each once; empty: see samples
  std::size_t samples = 0;          ///< without sources: so many different nodes drawn at random; 0: all nodes
  std::uint64_t seed = 0;
};

/// Closeness centrality of every node, from the distances of the paths that lead to it (as NetworkX's
/// closeness_centrality and harmonic_centrality; for distances from the node, pack the transpose). With `others` the
/// sources other than the node, r those among them that reach it, and sum the sum of their distances, the score is as
/// ClosenessScore says; 0 for a node that no other source reaches. With all nodes as sources, the default, it is exact.
/// With fewer it is an estimate (Eppstein and Wang, "Fast approximation of centrality", SODA 2001); a harmonic score is
/// then multiplied by (n - 1) / others.
///
/// 512 sources are searched from at a time (multi_source_bfs). Distances are added up as integers: on the host the
/// result is bit-identical for every format, order and number of threads; on a CUDA device it is the same but for the
/// rounding of harmonic sums. Edges are 1 long.
/// Memory: 230 bytes a node on the host. On a CUDA device 64 sources are searched from at a time: 290 bytes a node
/// there and as many on the host. Throws usage for a source outside the graph or named twice; not_possible on a CUDA
/// device for a directed graph that was packed without its transpose. O(sources / 512 levels (n + m)) at most.
[[nodiscard]] Buffer<double> closeness(const PackedGraph& graph, const ClosenessOptions& options = {});

}  // namespace bitgraph
