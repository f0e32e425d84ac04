// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bitgraph {

struct BetweennessOptions {
  std::span<const NodeId> sources;  ///< where paths start, in the caller's numbering; empty: see samples
  std::size_t samples = 0;          ///< without sources: so many different nodes drawn at random; 0: all nodes
  std::uint64_t seed = 0;
  bool normalized = false;  ///< divide by (n - 1)(n - 2), and multiply by n over the number of sources
};

/// Betweenness centrality (Brandes 2001): for every node v the sum, over the sources s and all nodes t, both different
/// from v, of the share of the shortest paths from s to t that pass through v. Edges are 1 long and directed; a pair of
/// an undirected graph counts once for each end that is a source.
///
/// Threads search from different sources, and scores are added up in the order of the sources: the result does not
/// depend on the number of threads. Memory: 24 bytes a node and thread. Throws usage for a source outside the graph,
/// not_possible where a node has more shortest paths than a double counts (1.8e308). O(sources (n + m)).
///
/// On a CUDA device 32 sources are searched from at a time, and the scores are there too: the same in every run, and as
/// on the host but for the rounding of sums over more than 1024 edges, and of path counts from 2^53 on (relative to the
/// score, 2^-52 times the edges added up). Memory: 796 bytes a node, and fewer than 2^27 nodes (else not_possible).
[[nodiscard]] Buffer<double> betweenness(const PackedGraph& graph, const BetweennessOptions& options = {});

}  // namespace bitgraph
