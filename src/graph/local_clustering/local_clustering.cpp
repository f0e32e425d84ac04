// SPDX-License-Identifier: Apache-2.0
// Local graph clustering around seed nodes (LGC of Bit-GraphBLAS, section V; Andersen, Chung, Lang 2006).
//
// The idea. The seeds share all the rank. A push keeps a part of the rank of a row for good (teleport), and divides
// half of the rest among the neighbours. A row is pushed when its rank reaches a threshold, which grows with its
// degree and epsilon. The rows found are sorted by rank over degree. The cluster is the prefix of least conductance
// (sweep).
//
// Encoding. The graph is a pattern CSR or a matrix of bit tiles, read in both directions (UndirectedView). Rank is a
// 64-bit whole number, a part of whole_rank (push.hpp). Sums of whole numbers do not depend on the order of additions,
// so the host and a CUDA device give the same result.
//
// Methods. Bit-GraphBLAS computes the walk by a product over plus-times, which visits every row. A push visits the
// neighbours of one row only, so the time depends on the cluster and not on the graph.
//   host  One thread pushes in rounds: all rows of the queue keep their part, then they give the rest.
//   CUDA  cuda.cu runs the same rounds in one cooperative launch of few blocks. The host sorts the rows found.
#include <bitgraph/graph/local_clustering.hpp>

#include "core/threads/parallel.hpp"
#include "graph/local_clustering/engine.hpp"
#include "graph/packed_graph/undirected.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace bitgraph {

namespace {

/// The walk on the host.
class HostLocalWalk final : public LocalWalkEngine {
 public:
  HostLocalWalk(const PackedGraph& graph, const RankRule& rule);
  [[nodiscard]] std::vector<RankedRow> run(std::span<const NodeId> seed_rows) override;
  [[nodiscard]] std::vector<EdgeOffset> entries_before(std::span<const NodeId> rows) override;

 private:
  void give(NodeId row, std::uint64_t amount);
  template <class View>
  void push_queue(const View& view);

  const PackedGraph& graph_;
  RankRule rule_;
  Buffer<std::uint32_t> degree_;           ///< of rows
  Buffer<std::uint64_t> rank_, residual_;  ///< zero between runs
  Buffer<NodeId> place_;                   ///< of a row in a list, from 1 on; zero between calls
  std::vector<NodeId> touched_, queue_, next_;
  std::vector<std::uint64_t> to_each_;  ///< of the rows in the queue
};

HostLocalWalk::HostLocalWalk(const PackedGraph& graph, const RankRule& rule) : graph_(graph), rule_(rule) {
  const Device& device = graph.device();
  const std::size_t n = graph.num_nodes();
  degree_ = Buffer<std::uint32_t>(n, device);
  rank_ = Buffer<std::uint64_t>(n, std::uint64_t{0}, device);
  residual_ = Buffer<std::uint64_t>(n, std::uint64_t{0}, device);
  place_ = Buffer<NodeId>(n, NodeId{0}, device);
  with_undirected_view(graph_, [&](const auto& view) {
    parallel_for(device, n, 4096, [&](std::size_t i) { degree_[i] = view.degree(static_cast<NodeId>(i)); });
  });
  for (const std::uint32_t degree : degree_) volume_ += degree;
}

/// Gives a row rank; where that fills it, it is in the next round.
void HostLocalWalk::give(NodeId row, std::uint64_t amount) {
  const std::uint64_t before = residual_[row];
  residual_[row] += amount;
  const std::uint64_t enough = rule_.enough(degree_[row]);
  if (before < enough && residual_[row] >= enough) next_.push_back(row);
  if (std::exchange(place_[row], NodeId{1}) == 0) touched_.push_back(row);
}

/// A round: all rows of the queue take what they have found, then give it on.
template <class View>
void HostLocalWalk::push_queue(const View& view) {
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

std::vector<RankedRow> HostLocalWalk::run(std::span<const NodeId> seed_rows) {
  graph_.device().throw_if_stopped();
  touched_.clear();
  next_.clear();
  for (const NodeId row : seed_rows) give(row, whole_rank / seed_rows.size());
  with_undirected_view(graph_, [&](const auto& view) {
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

std::vector<EdgeOffset> HostLocalWalk::entries_before(std::span<const NodeId> rows) {
  std::vector<EdgeOffset> before(rows.size());
  with_undirected_view(graph_, [&](const auto& view) {
    for (std::size_t k = 0; k < rows.size(); ++k) {
      view.each(rows[k], [&](NodeId j) { before[k] += place_[j] != 0 ? 1U : 0U; });
      place_[rows[k]] = 1;  // after: a loop does not count
    }
  });
  for (const NodeId row : rows) place_[row] = 0;
  return before;
}

template <class Backend>
std::unique_ptr<LocalWalkEngine> make_local_walk_engine(const Backend&, const PackedGraph& graph,
                                                        const RankRule& rule) {
  return std::make_unique<HostLocalWalk>(graph, rule);
}

/// Fills cluster.members: the rows found, by falling score, up to the one where the conductance is least.
void sweep(const PackedGraph& graph, std::span<const RankedRow> found, std::span<const EdgeOffset> before,
           EdgeOffset volume, LocalCluster& cluster) {
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
  for (std::size_t k = 0; k < found.size() && k <= best; ++k) cluster.members.push_back(graph.node_of(found[k].row));
}

}  // namespace

LocalClustering::LocalClustering(const PackedGraph& graph, const LocalClusterOptions& options) : graph_(&graph) {
  require(options.teleport > 0 && options.teleport < 1, "local clustering: teleport must lie between 0 and 1");
  require(options.epsilon > 0, "local clustering: epsilon must be above 0");
  static_cast<void>(graph.in());
  const RankRule rule{options.teleport, options.epsilon};
  walk_ = with_backend(graph.device(), "local clustering",
                       [&](const auto& backend) { return make_local_walk_engine(backend, graph, rule); });
}
LocalClustering::LocalClustering(LocalClustering&&) noexcept = default;
LocalClustering& LocalClustering::operator=(LocalClustering&&) noexcept = default;
LocalClustering::~LocalClustering() = default;

LocalCluster LocalClustering::run(std::span<const NodeId> seeds) {
  require(!seeds.empty(), "local clustering: at least one seed is needed");
  const PackedGraph& graph = *graph_;
  std::vector<NodeId> rows;
  for (const NodeId seed : seeds) {
    if (seed >= graph.num_nodes())
      fail(ErrorCode::usage,
           fmt::format("local clustering: seed {} is no node, the graph has {}", seed, graph.num_nodes()));
    rows.push_back(graph.row_of(seed));
  }
  std::vector<RankedRow> found = walk_->run(rows);
  const auto score = [](const RankedRow& row) { return share_of(row.rank) / std::max<std::uint32_t>(row.degree, 1); };
  std::sort(found.begin(), found.end(), [&](const RankedRow& a, const RankedRow& b) {
    return score(a) != score(b) ? score(a) > score(b) : graph.node_of(a.row) < graph.node_of(b.row);
  });
  rows.clear();
  for (const RankedRow& row : found) rows.push_back(row.row);

  LocalCluster cluster;
  for (const RankedRow& row : found) {
    cluster.nodes.push_back(graph.node_of(row.row));
    cluster.scores.push_back(share_of(row.rank));
  }
  sweep(graph, found, walk_->entries_before(rows), walk_->volume(), cluster);
  return cluster;
}

LocalCluster local_cluster(const PackedGraph& graph, std::span<const NodeId> seeds,
                           const LocalClusterOptions& options) {
  return LocalClustering(graph, options).run(seeds);
}

}  // namespace bitgraph
