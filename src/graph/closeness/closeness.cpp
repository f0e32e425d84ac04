// SPDX-License-Identifier: Apache-2.0
// Closeness centrality. For every node it needs the number of sources that reach the node and the sum of their
// distances. A sample of sources estimates the scores of all nodes (Eppstein and Wang, "Fast approximation of
// centrality", 2001).
//
// The idea. Searches run forward from the sources. A search backward from a node would give the same sums, but only
// for that node: forward, every search contributes to the scores of all nodes.
//
// Encoding. The graph is a pattern CSR or a matrix of bit tiles. A row of bits says which sources have reached a node:
// one bit a source.
//
// Methods.
//   host  The kernels of multi_source_bfs run sources_a_pass sources together. If a level gives a node new bits, their
//         number is the number of sources at that distance: one population count for each row and level. So the sums
//         need no memory for levels. One thread adds up the sums of a node, in the order of the passes and levels.
//   CUDA  sums_by_levels() runs MultiSourceBreadthFirstSearch on the device with fewer sources at a time. It copies
//         the levels to the host, and the host adds them up.
#include <bitgraph/graph/closeness.hpp>

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/graph/multi_source_bfs.hpp>

#include "graph/multi_source_bfs/multi_source_bfs.hpp"
#include "graph/packed_graph/views.hpp"
#include "graph/samples.hpp"
#include "graph/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace bitgraph {

namespace {

struct Sums {
  std::vector<DistanceSums> of_node;
  bool by_row = false;  ///< as rows are numbered in memory; else as the caller's nodes
};

/// One pass after the other, by the kernels of multi_source_bfs on the host.
Sums sums_on_host(const PackedGraph& graph, std::span<const NodeId> sources) {
  const std::size_t n = graph.num_nodes();
  const std::size_t most = std::min(sources_a_pass, sources.size());
  const std::size_t words = std::bit_ceil(words_for_bits(most));
  const auto row_words = [&] { return Buffer<std::uint64_t>(n * words); };
  Buffer<std::uint64_t> seen = row_words(), front = row_words(), next = row_words();
  Buffer<std::uint64_t> active(words_for_bits(n)), active_next(words_for_bits(n));
  std::vector<NodeId> reached(most);
  std::vector<std::int32_t> eccentricity(most);
  Sums sums{std::vector<DistanceSums>(n), true};
  for (std::size_t first = 0; first < sources.size(); first += sources_a_pass) {
    with_views(graph, [&]<class View>(const View& out, const View& in) {
      MultiSourceBfsArgs<View> args;
      args.out = out;
      args.in = in;
      args.has_in = graph.has_in();
      args.sources = sources.data() + first;
      args.num_sources = std::min(sources_a_pass, sources.size() - first);
      if (!graph.new_id().empty()) args.new_id = graph.new_id().data();
      args.reached = reached.data();
      args.eccentricity = eccentricity.data();
      args.sums = sums.of_node.data();
      args.words = std::bit_ceil(words_for_bits(args.num_sources));
      args.seen = seen.data();
      args.front = front.data();
      args.next = next.data();
      args.active = active.data();
      args.active_next = active_next.data();
      with_host_backend(graph.device(), "closeness", [&](const auto& backend) { multi_source_bfs(backend, args); });
    });
  }
  return sums;
}

/// By the levels of a few sources at a time, which the host adds up.
Sums sums_by_levels(const PackedGraph& graph, std::span<const NodeId> sources) {
  constexpr std::size_t together = 64;
  const NodeId n = graph.num_nodes();
  Sums sums{std::vector<DistanceSums>(n), false};
  MultiSourceBreadthFirstSearch search(graph, std::min(together, sources.size()));
  for (std::size_t first = 0; first < sources.size(); first += together) {
    const auto some = sources.subspan(first, std::min(together, sources.size() - first));
    const DenseMatrix<std::int32_t> level = search.run({.sources = some, .levels = true}).level.to(Device{});
    for (NodeId node = 0; node < n; ++node) {
      for (std::size_t s = 0; s < some.size(); ++s) {
        if (level(node, s) > 0) sums.of_node[node].add(1, level(node, s));
      }
    }
  }
  return sums;
}

double score_of(const DistanceSums& sums, double others, double most_others, ClosenessScore score) {
  if (sums.sources == 0) return 0;
  const auto reaching = static_cast<double>(sums.sources);
  if (score == ClosenessScore::harmonic) return sums.inverse * (most_others / others);
  const double mean_inverse = reaching / static_cast<double>(sums.distance);
  return score == ClosenessScore::improved ? mean_inverse * (reaching / others) : mean_inverse;
}

}  // namespace

Buffer<double> closeness(const PackedGraph& graph, const ClosenessOptions& options) {
  const NodeId n = graph.num_nodes();
  for (const NodeId source : options.sources) check_source(source, n);
  if (n == 0) return Buffer<double>(0, graph.device());
  std::vector<NodeId> sources(options.sources.begin(), options.sources.end());
  if (sources.empty()) sources = sampled_nodes(n, options.samples, {options.seed, 0xC1, 0});
  std::vector<char> is_source(n, 0);
  for (const NodeId source : sources) {
    if (is_source[source] != 0) fail(ErrorCode::usage, fmt::format("closeness: the source {} is named twice", source));
    is_source[source] = 1;
  }
  const bool on_host = backend_for(graph.device()) != BackendKind::cuda;
  const Sums sums = on_host ? sums_on_host(graph, sources) : sums_by_levels(graph, sources);
  Buffer<double> result(n);
  for (NodeId node = 0; node < n; ++node) {
    const double others = static_cast<double>(sources.size()) - is_source[node];
    result[node] = score_of(sums.of_node[sums.by_row ? graph.row_of(node) : node], others, static_cast<double>(n) - 1,
                            options.score);
  }
  return result.to(graph.device());
}

}  // namespace bitgraph
