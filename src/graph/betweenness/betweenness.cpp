// SPDX-License-Identifier: Apache-2.0
// Betweenness centrality: for each node, the shares of shortest paths that run through it (Brandes 2001).
//
// The idea. A breadth-first search from a source counts the shortest paths to every row. A second walk, from the
// farthest rows back to the source, adds up the dependency of the source on every row. The score of a node is the sum
// of its dependencies over all sources. A sample of sources estimates the scores of all nodes.
//
// Encoding. The host reads the out-edges of a pattern CSR or of a matrix of bit tiles. Levels are 32-bit numbers. Path
// counts and dependencies are doubles, because path counts grow exponentially. If a count is not finite, the search
// fails with not_possible and names the source.
//
// Host. Each thread runs whole searches, one source at a time (struct Search), and clears only the rows that the last
// search reached. The dependencies are added source by source, so the scores do not depend on the number of threads.
//
// CUDA (cuda.cu). A launch runs `batch` sources together: a lane has a source and a warp has a row. A list for each
// level holds its rows, each with a mask of the sources that have it at that level. A row with more edges than
// long_row takes a whole block.
#include <bitgraph/graph/betweenness.hpp>

#include "core/threads/parallel.hpp"
#include "formats/rows.hpp"
#include "graph/betweenness/betweenness.hpp"
#include "graph/samples.hpp"
#include "graph/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bitgraph {

namespace {

/// What one thread needs to search from one source, and what it found: the dependency of the source on every row.
struct Search {
  std::vector<NodeId> queue;
  std::vector<std::int32_t> level;
  std::vector<double> paths;
  std::vector<double> dependency;  ///< of rows that are not in the queue: 0

  explicit Search(std::size_t n) : level(n, -1), paths(n, 0), dependency(n, 0) { queue.reserve(n); }

  /// Forgets the last source: only what it reached is touched.
  void clear() {
    for (const NodeId row : queue) {
      level[row] = -1;
      paths[row] = 0;
      dependency[row] = 0;
    }
    queue.clear();
  }

  /// False where there are too many paths to count.
  template <class Graph>
  bool run(const Graph& graph, NodeId source) {
    clear();
    level[source] = 0;
    paths[source] = 1;
    queue.push_back(source);
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const NodeId row = queue[next];
      if (!std::isfinite(paths[row])) return false;
      for_each_entry(graph, row, [&](NodeId j) {
        if (level[j] < 0) {
          level[j] = level[row] + 1;
          queue.push_back(j);
        }
        if (level[j] == level[row] + 1) paths[j] += paths[row];
      });
    }
    for (std::size_t left = queue.size(); left-- > 0;) {
      const NodeId row = queue[left];
      double sum = 0;
      for_each_entry(graph, row, [&](NodeId j) {
        if (level[j] == level[row] + 1) sum += paths[row] / paths[j] * (1 + dependency[j]);
      });
      dependency[row] = sum;
    }
    dependency[source] = 0;
    return true;
  }
};

std::vector<NodeId> sources_of(const PackedGraph& graph, const BetweennessOptions& options) {
  const NodeId n = graph.num_nodes();
  for (const NodeId source : options.sources) check_source(source, n);
  if (!options.sources.empty()) return {options.sources.begin(), options.sources.end()};
  return sampled_nodes(n, options.samples, {options.seed, 0xBE, 0});
}

/// Adds the dependencies of all sources to the scores of the rows, source by source. Returns as betweenness_scores().
template <class Graph>
std::size_t add_scores(const PackedGraph& packed, const Graph& graph, std::span<const NodeId> sources,
                       std::vector<double>& scores) {
  const Device& device = packed.device();
  const std::size_t batch = std::min<std::size_t>(static_cast<std::size_t>(device.threads()), sources.size());
  std::vector<Search> searches(batch, Search(graph.nrows));
  for (std::size_t first = 0; first < sources.size(); first += batch) {
    device.throw_if_stopped();
    const std::size_t count = std::min(batch, sources.size() - first);
    std::vector<char> counted(count, 0);
    parallel_chunks(device, count, count == 1 ? 2 : 1, [&](Range range) {
      for (std::size_t k = range.begin; k < range.end; ++k)
        counted[k] = searches[k].run(graph, packed.row_of(sources[first + k])) ? 1 : 0;
    });
    for (std::size_t k = 0; k < count; ++k) {
      if (counted[k] == 0) return first + k;
    }
    parallel_for(device, scores.size(), std::size_t{1} << 14, [&](std::size_t row) {
      for (std::size_t k = 0; k < count; ++k) scores[row] += searches[k].dependency[row];
    });
  }
  return sources.size();
}

/// The same on the host.
template <class Backend>
std::size_t betweenness_scores(const Backend&, const PackedGraph& graph, std::span<const NodeId> sources, double scale,
                               double* score) {
  std::vector<double> scores(graph.num_nodes(), 0);
  const std::size_t failed =
      with_view(graph.out(), [&](const auto& out) { return add_scores(graph, out, sources, scores); });
  for (NodeId row = 0; row < graph.num_nodes(); ++row) score[graph.node_of(row)] = scores[row] * scale;
  return failed;
}

}  // namespace

Buffer<double> betweenness(const PackedGraph& graph, const BetweennessOptions& options) {
  const NodeId n = graph.num_nodes();
  const std::vector<NodeId> sources = sources_of(graph, options);
  Buffer<double> result(n, 0.0, graph.device());
  if (n == 0 || sources.empty()) return result;
  const double pairs = (static_cast<double>(n) - 1) * (static_cast<double>(n) - 2);
  const double scale =
      options.normalized && pairs > 0 ? static_cast<double>(n) / static_cast<double>(sources.size()) / pairs : 1;
  const std::size_t failed = with_backend(graph.device(), "betweenness", [&](const auto& backend) {
    return betweenness_scores(backend, graph, sources, scale, result.data());
  });
  if (failed != sources.size()) {
    fail(ErrorCode::not_possible,
         fmt::format("betweenness: from node {} there are more shortest paths than a double counts", sources[failed]));
  }
  return result;
}

}  // namespace bitgraph
