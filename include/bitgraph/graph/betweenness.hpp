// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bitgraph {

struct BetweennessOptions {
  std::span<const NodeId> sources;  ///< where paths start, in the caller's numbering; empty: see samples
  std::size_t samples = 0;          ///< without sources: the number of different nodes drawn at random; 0: all nodes
  std::uint64_t seed = 0;           ///< of the draw
  bool normalized = false;          ///< divide by (n - 1)(n - 2), and multiply by n over the number of sources
};

/// Betweenness centrality (Brandes 2001) of every node v: the sum over the sources s and all nodes t of the share of
/// the shortest paths from s to t that pass through v. Both s and t are different from v. Edges have length 1 and a
/// direction. A pair of nodes of an undirected graph counts once for each of its ends that is a source.
///
/// The result has n elements in the caller's numbering, on the graph's device. Throws usage for a source outside the
/// graph; not_possible where a node has more shortest paths than a double counts (1.8e308). O(sources (n + m)).
///
/// On the host each thread searches from a source of its own, and scores are added up in the order of the sources. The
/// result does not depend on the number of threads. Memory: 24 bytes a node and thread.
///
/// A CUDA device searches from 32 sources at a time. The result is the same in every run. It differs from the host's by
/// rounding only: of sums over more than 1024 edges, and of path counts from 2^53 on (relative to the score, 2^-52
/// times the edges added up). Memory: 796 bytes a node. Throws not_possible for 2^27 nodes or more.
[[nodiscard]] Buffer<double> betweenness(const PackedGraph& graph, const BetweennessOptions& options = {});

}  // namespace bitgraph
