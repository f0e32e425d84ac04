// SPDX-License-Identifier: Apache-2.0
// There is one kernel for all backends of the host, and no room for it in a product over plus-times, which
// Bit-GraphBLAS has here: a product visits every row, a push the neighbours of one. The walk is one thread's, and its
// order is the result: a graph on a CUDA device is brought to the host for it.
#include <bitgraph/graph/local_clustering.hpp>

#include "core/backend.hpp"
#include "graph/packed_graph/pattern.hpp"
#include "graph/packed_graph/views.hpp"
#include "graph/priority_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace bitgraph {

namespace {

/// fn(view) with the edges of both directions.
template <class Fn>
void with_undirected(const PackedGraph& graph, const Fn& fn) {
  with_views(graph, [&](const auto& out, const auto& in) {
    fn(UndirectedView<std::remove_cvref_t<decltype(out)>>{out, in, graph.symmetric()});
  });
}

constexpr unsigned char touched_mark = 1;
constexpr unsigned char queued_mark = 2;
constexpr unsigned char inside_mark = 4;

}  // namespace

LocalClusterSearch::LocalClusterSearch(const PackedGraph& graph, const LocalClusterOptions& options)
    : graph_(graph), options_(options) {
  require(options.teleport > 0 && options.teleport < 1, "local clustering: teleport must lie between 0 and 1");
  require(options.epsilon > 0, "local clustering: epsilon must be above 0");
  static_cast<void>(graph.in());
  if (!graph.device().is_host())
    brought_ = std::make_shared<const PackedGraph>(pack_graph(pattern_of(graph).to(Device{}), {.tile_dim = csr_tile}));
  const Device& device = edges().device();
  with_host_backend(device, "local clustering", [](const auto&) {});
  const std::size_t n = graph.num_nodes();
  degree_ = Buffer<EdgeOffset>(n, device);
  rank_ = Buffer<double>(n, 0.0, device);
  residual_ = Buffer<double>(n, 0.0, device);
  mark_ = Buffer<unsigned char>(n, static_cast<unsigned char>(0), device);
  with_undirected(edges(), [&](const auto& view) {
    parallel_for(device, n, 4096, [&](std::size_t i) { degree_[i] = view.degree(static_cast<NodeId>(i)); });
  });
  for (const EdgeOffset degree : degree_) volume_ += degree;
}

LocalCluster LocalClusterSearch::run(std::span<const NodeId> seeds) {
  require(!seeds.empty(), "local clustering: at least one seed is needed");
  for (const NodeId seed : seeds) {
    if (seed >= graph_.num_nodes())
      fail(ErrorCode::usage,
           fmt::format("local clustering: seed {} is no node, the graph has {}", seed, graph_.num_nodes()));
  }
  touched_.clear();
  queue_.clear();
  const auto give = [&](NodeId row, double amount) {
    residual_[row] += amount;
    if ((mark_[row] & touched_mark) == 0) touched_.push_back(row);
    mark_[row] |= touched_mark;
    const bool full = residual_[row] >= options_.epsilon * static_cast<double>(degree_[row]);
    if (!full || (mark_[row] & queued_mark) != 0) return;
    mark_[row] |= queued_mark;
    queue_.push_back(row);
  };
  for (const NodeId seed : seeds) give(graph_.row_of(seed), 1 / static_cast<double>(seeds.size()));
  with_undirected(edges(), [&](const auto& view) {
    for (std::size_t head = 0; head < queue_.size(); ++head) {
      const NodeId row = queue_[head];
      mark_[row] &= static_cast<unsigned char>(~queued_mark);
      const double found = residual_[row];
      const auto degree = static_cast<double>(degree_[row]);
      residual_[row] = 0;
      if (degree == 0) {
        rank_[row] += found;
        continue;
      }
      // The lazy walk: one half of what does not go back to the seeds stays.
      rank_[row] += options_.teleport * found;
      const double rest = (1 - options_.teleport) * found / 2;
      view.each(row, [&](NodeId j) {
        if (j != row) give(j, rest / degree);
      });
      give(row, rest);
      // What was dealt with makes room.
      if (head > 4096 && 2 * head > queue_.size()) {
        queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(head + 1));
        head = ~std::size_t{0};
      }
    }
  });
  LocalCluster cluster;
  sweep(cluster);
  for (const NodeId row : touched_) {
    rank_[row] = residual_[row] = 0;
    mark_[row] = 0;
  }
  return cluster;
}

void LocalClusterSearch::sweep(LocalCluster& cluster) {
  std::vector<NodeId> rows;
  for (const NodeId row : touched_) {
    if (rank_[row] > 0) rows.push_back(row);
  }
  const auto score = [&](NodeId row) {
    return rank_[row] / static_cast<double>(std::max<EdgeOffset>(degree_[row], 1));
  };
  std::sort(rows.begin(), rows.end(), [&](NodeId i, NodeId j) {
    return score(i) != score(j) ? score(i) > score(j) : graph_.node_of(i) < graph_.node_of(j);
  });
  std::size_t best = rows.size();
  EdgeOffset inside = 0;  // degrees
  EdgeOffset cut = 0;     // edges that leave
  with_undirected(edges(), [&](const auto& view) {
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const NodeId row = rows[k];
      EdgeOffset within = 0;
      view.each(row, [&](NodeId j) { within += j != row && (mark_[j] & inside_mark) != 0 ? 1U : 0U; });
      mark_[row] |= inside_mark;
      inside += degree_[row];
      cut += degree_[row] - 2 * within;
      const EdgeOffset smaller = std::min(inside, volume_ - inside);
      if (smaller == 0) continue;  // nothing inside or nothing outside is no cluster
      const double conductance = static_cast<double>(cut) / static_cast<double>(smaller);
      if (best != rows.size() && conductance >= cluster.conductance) continue;
      best = k;
      cluster.conductance = conductance;
    }
  });
  for (std::size_t k = 0; k < rows.size(); ++k) {
    cluster.nodes.push_back(graph_.node_of(rows[k]));
    cluster.scores.push_back(rank_[rows[k]]);
    if (k <= best) cluster.members.push_back(cluster.nodes.back());
  }
}

LocalCluster local_cluster(const PackedGraph& graph, std::span<const NodeId> seeds,
                           const LocalClusterOptions& options) {
  return LocalClusterSearch(graph, options).run(seeds);
}

}  // namespace bitgraph
