// SPDX-License-Identifier: Apache-2.0
// There is no room for this in a product over plus-times, which Bit-GraphBLAS has here: a product visits every row, a
// push the neighbours of one. On the host one thread walks.
#include <bitgraph/graph/local_clustering.hpp>

#include "core/backend.hpp"
#include "graph/local_clustering/push.hpp"
#include "graph/packed_graph/views.hpp"
#include "graph/priority_order.hpp"
#ifdef BITGRAPH_WITH_CUDA
#include "graph/local_clustering/cuda.cuh"
#endif

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace bitgraph {

/// Walks over one packed graph on the host, and the memory they take.
class LocalWalk {
 public:
  LocalWalk(const PackedGraph& graph, const RankRule& rule);

  [[nodiscard]] EdgeOffset volume() const noexcept { return volume_; }  ///< the sum of all degrees

  /// The rows with rank, in no order.
  [[nodiscard]] std::vector<RankedRow> run(std::span<const NodeId> seed_rows);

  /// Of each of these rows, all different, how many entries lead to rows before it.
  [[nodiscard]] std::vector<EdgeOffset> entries_before(std::span<const NodeId> rows);

 private:
  /// fn(view) with the edges of both directions.
  template <class Fn>
  void with_undirected(const Fn& fn) const {
    with_views(graph_, [&](const auto& out, const auto& in) {
      fn(UndirectedView<std::remove_cvref_t<decltype(out)>>{out, in, graph_.symmetric()});
    });
  }

  void give(NodeId row, std::uint64_t amount);
  template <class View>
  void push_queue(const View& view);

  const PackedGraph& graph_;
  RankRule rule_;
  EdgeOffset volume_ = 0;
  Buffer<std::uint32_t> degree_;           // of rows
  Buffer<std::uint64_t> rank_, residual_;  // zero between runs
  Buffer<NodeId> place_;                   // of a row in a list, from 1 on; zero between calls
  std::vector<NodeId> touched_, queue_, next_;
  std::vector<std::uint64_t> to_each_;  // of the rows in the queue
};

LocalWalk::LocalWalk(const PackedGraph& graph, const RankRule& rule) : graph_(graph), rule_(rule) {
  const Device& device = graph.device();
  with_host_backend(device, "local clustering", [](const auto&) {});
  const std::size_t n = graph.num_nodes();
  degree_ = Buffer<std::uint32_t>(n, device);
  rank_ = Buffer<std::uint64_t>(n, std::uint64_t{0}, device);
  residual_ = Buffer<std::uint64_t>(n, std::uint64_t{0}, device);
  place_ = Buffer<NodeId>(n, NodeId{0}, device);
  with_undirected([&](const auto& view) {
    parallel_for(device, n, 4096, [&](std::size_t i) { degree_[i] = view.degree(static_cast<NodeId>(i)); });
  });
  for (const std::uint32_t degree : degree_) volume_ += degree;
}

/// Gives a row rank; where that fills it, it is in the next round.
void LocalWalk::give(NodeId row, std::uint64_t amount) {
  const std::uint64_t before = residual_[row];
  residual_[row] += amount;
  const std::uint64_t enough = rule_.enough(degree_[row]);
  if (before < enough && residual_[row] >= enough) next_.push_back(row);
  if (std::exchange(place_[row], NodeId{1}) == 0) touched_.push_back(row);
}

/// A round: all rows of the queue take what they have found, then give it on.
template <class View>
void LocalWalk::push_queue(const View& view) {
  to_each_.clear();
  for (const NodeId row : queue_) {
    const RankPush pushed = rule_.push(residual_[row], degree_[row]);
    rank_[row] += pushed.stays;
    residual_[row] = pushed.left;
    to_each_.push_back(pushed.to_each);
    if (pushed.left >= rule_.enough(degree_[row])) next_.push_back(row);
  }
  for (std::size_t k = 0; k < queue_.size(); ++k) {
    if (to_each_[k] == 0) continue;
    view.each(queue_[k], [&](NodeId j) {
      if (j != queue_[k]) give(j, to_each_[k]);
    });
  }
}

std::vector<RankedRow> LocalWalk::run(std::span<const NodeId> seed_rows) {
  graph_.device().throw_if_stopped();
  touched_.clear();
  next_.clear();
  for (const NodeId row : seed_rows) give(row, whole_rank / seed_rows.size());
  with_undirected([&](const auto& view) {
    while (!next_.empty()) {
      std::swap(queue_, next_);
      next_.clear();
      push_queue(view);
    }
  });
  std::vector<RankedRow> found;
  for (const NodeId row : touched_) {
    if (rank_[row] != 0) found.push_back({rank_[row], row, degree_[row]});
    rank_[row] = residual_[row] = 0;
    place_[row] = 0;
  }
  return found;
}

std::vector<EdgeOffset> LocalWalk::entries_before(std::span<const NodeId> rows) {
  std::vector<EdgeOffset> before(rows.size());
  with_undirected([&](const auto& view) {
    for (std::size_t k = 0; k < rows.size(); ++k) {
      view.each(rows[k], [&](NodeId j) { before[k] += place_[j] != 0 ? 1U : 0U; });
      place_[rows[k]] = 1;  // after: a loop does not count
    }
  });
  for (const NodeId row : rows) place_[row] = 0;
  return before;
}

LocalClusterSearch::LocalClusterSearch(const PackedGraph& graph, const LocalClusterOptions& options) : graph_(graph) {
  require(options.teleport > 0 && options.teleport < 1, "local clustering: teleport must lie between 0 and 1");
  require(options.epsilon > 0, "local clustering: epsilon must be above 0");
  static_cast<void>(graph.in());
  const RankRule rule{options.teleport, options.epsilon};
#ifdef BITGRAPH_WITH_CUDA
  if (backend_for(graph.device()) == BackendKind::cuda) {
    on_cuda_ = std::make_shared<CudaLocalWalk>(graph, rule);
    return;
  }
#endif
  on_host_ = std::make_shared<LocalWalk>(graph, rule);
}

/// fn(walk) with the one there is.
template <class Fn>
auto LocalClusterSearch::with_walk(const Fn& fn) {
#ifdef BITGRAPH_WITH_CUDA
  if (on_cuda_) return fn(*on_cuda_);
#endif
  return fn(*on_host_);
}

LocalCluster LocalClusterSearch::run(std::span<const NodeId> seeds) {
  require(!seeds.empty(), "local clustering: at least one seed is needed");
  std::vector<NodeId> rows;
  for (const NodeId seed : seeds) {
    if (seed >= graph_.num_nodes())
      fail(ErrorCode::usage,
           fmt::format("local clustering: seed {} is no node, the graph has {}", seed, graph_.num_nodes()));
    rows.push_back(graph_.row_of(seed));
  }
  std::vector<RankedRow> found = with_walk([&](auto& walk) { return walk.run(rows); });
  const auto score = [](const RankedRow& row) { return share_of(row.rank) / std::max<std::uint32_t>(row.degree, 1); };
  std::sort(found.begin(), found.end(), [&](const RankedRow& a, const RankedRow& b) {
    return score(a) != score(b) ? score(a) > score(b) : graph_.node_of(a.row) < graph_.node_of(b.row);
  });
  rows.clear();
  for (const RankedRow& row : found) rows.push_back(row.row);
  const auto before = with_walk([&](auto& walk) { return walk.entries_before(rows); });
  const EdgeOffset volume = with_walk([](const auto& walk) { return walk.volume(); });

  LocalCluster cluster;
  std::size_t best = found.size();
  EdgeOffset inside = 0;  // degrees
  EdgeOffset cut = 0;     // edges that leave
  for (std::size_t k = 0; k < found.size(); ++k) {
    inside += found[k].degree;
    cut += found[k].degree - 2 * before[k];
    const EdgeOffset smaller = std::min(inside, volume - inside);
    if (smaller == 0) continue;  // nothing inside or nothing outside is no cluster
    const double conductance = static_cast<double>(cut) / static_cast<double>(smaller);
    if (best != found.size() && conductance >= cluster.conductance) continue;
    best = k;
    cluster.conductance = conductance;
  }
  for (std::size_t k = 0; k < found.size(); ++k) {
    cluster.nodes.push_back(graph_.node_of(found[k].row));
    cluster.scores.push_back(share_of(found[k].rank));
    if (k <= best) cluster.members.push_back(cluster.nodes.back());
  }
  return cluster;
}

LocalCluster local_cluster(const PackedGraph& graph, std::span<const NodeId> seeds,
                           const LocalClusterOptions& options) {
  return LocalClusterSearch(graph, options).run(seeds);
}

}  // namespace bitgraph
