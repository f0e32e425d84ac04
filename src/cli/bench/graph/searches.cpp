// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/random.hpp>
#include <bitgraph/graph/bfs.hpp>
#include <bitgraph/graph/multi_source_bfs.hpp>
#include <bitgraph/graph/sssp.hpp>
#include <bitgraph/ops/semiring.hpp>

#include "cli/bench/graph/arena.hpp"

#include <algorithm>
#include <utility>

namespace bitgraph::cli {

namespace {

/// A search and its last result.
template <class Search, class Result>
struct Kept {
  explicit Kept(Search made) : search(std::move(made)) {}
  Search search;
  const Result* last = nullptr;
};

template <class T>
std::vector<double> numbers_of(const Buffer<T>& values) {
  const Buffer<T> host = values.to(Device{});
  return {host.begin(), host.end()};
}

OurWay bfs_way(const PackedGraph& graph, std::int32_t unreached) {
  auto kept = std::make_shared<Kept<BreadthFirstSearch, BfsResult>>(BreadthFirstSearch(graph));
  return {.run = [kept, unreached](NodeId source) { kept->last = &kept->search.run({.source = source}, unreached); },
          .result = [kept] { return numbers_of(kept->last->level); }};
}

/// 1 to 255, the same in both directions.
std::vector<std::int32_t> weights_of(const CsrPattern& graph, std::uint64_t seed) {
  std::vector<std::int32_t> weights;
  weights.reserve(graph.nvals());
  for (NodeId i = 0; i < graph.nrows(); ++i) {
    for (const NodeId j : graph.row(i)) {
      const std::uint64_t pair = std::uint64_t{std::min(i, j)} << 32 | std::max(i, j);
      weights.push_back(static_cast<std::int32_t>(1 + random_below({seed, 2, 0}, pair, 255)));
    }
  }
  return weights;
}

OurWay sssp_way(const WeightedGraph& graph) {
  using Search = ShortestPaths<std::int32_t>;
  auto kept = std::make_shared<Kept<Search, SsspResult<std::int32_t>>>(Search(graph));
  return {.run = [kept](NodeId source) { kept->last = &kept->search.run({.source = source}); },
          .result = [kept] { return numbers_of(kept->last->distance); }};
}

void bench_weighted(Arena& arena) {
  const CsrPattern& graph = arena.undirected();
  const std::vector<std::int32_t> weights = weights_of(graph, arena.setting().seed);
  const std::vector<float> lengths(weights.begin(), weights.end());
  arena.measure_rival({.algorithm = "sssp", .variant = "weights 1 to 255", .ways = arena.peer().sssp(weights)});
  const Device& device = arena.setting().device;
  for (const int tile : arena.setting().tiles) {
    arena.measure_ours(tile, [&]() -> Prepared {
      std::shared_ptr<WeightedGraph> packed;
      const double seconds = seconds_of([&] {
        packed = std::make_shared<WeightedGraph>(
            pack_weighted_graph(graph, lengths, {.tile_dim = tile}, WeightKind::integer, device));
        device.synchronize();
      });
      return {packed->graph().tile_dim(), seconds, sssp_way(*packed), packed};
    });
  }
}

/// Reached nodes and the eccentricity of each source.
struct Reach {
  std::vector<double> reached, eccentricity;
  void clear() {
    reached.clear();
    eccentricity.clear();
  }
  [[nodiscard]] std::vector<double> numbers() const {
    std::vector<double> all = reached;
    all.insert(all.end(), eccentricity.begin(), eccentricity.end());
    return all;
  }
};

/// What many sources at once are measured against: searches of ours, one after another.
PeerWay one_by_one(const PackedGraph& graph, const std::vector<NodeId>& sources) {
  auto search = std::make_shared<BreadthFirstSearch>(graph);
  auto reach = std::make_shared<Reach>();
  return {.calls = "bfs from each source, one after another",
          .prepare = {},
          .run =
              [=](NodeId) {
                reach->clear();
                for (const NodeId source : sources) {
                  const BfsResult& found = search->run({.source = source});
                  reach->reached.push_back(found.reached);
                  reach->eccentricity.push_back(found.num_levels - 1);
                }
              },
          .result = [reach] { return reach->numbers(); }};
}

}  // namespace

void bench_bfs(Arena& arena) {
  arena.compete({.algorithm = "bfs", .variant = "", .ways = arena.peer().bfs()}, Workload::search,
                [](const PackedGraph& graph) { return bfs_way(graph, -1); });
}

void bench_sssp(Arena& arena) {
  // Shortest paths over unit edges are levels: sssp() is that search.
  arena.compete({.algorithm = "sssp", .variant = "unit edges", .ways = arena.peer().sssp({})}, Workload::search,
                [](const PackedGraph& graph) { return bfs_way(graph, unreached<std::int32_t>()); });
  bench_weighted(arena);
}

void bench_many_sources(Arena& arena) {
  const std::vector<NodeId> sources = arena.sources(sources_a_pass, 1);
  const PackedGraph graph = pack_graph(arena.undirected(), {.tile_dim = csr_tile}, arena.setting().device);
  Job job{.algorithm = "msbfs", .variant = std::to_string(sources.size()) + " sources", .ways = {}};
  job.peer = "bitgraph, one by one";
  job.ways.push_back(one_by_one(graph, sources));
  arena.compete(std::move(job), Workload::traversal, [&](const PackedGraph& packed) -> OurWay {
    using Result = MultiSourceBfsResult;
    auto kept = std::make_shared<Kept<MultiSourceBreadthFirstSearch, Result>>(
        MultiSourceBreadthFirstSearch(packed, sources.size()));
    return {.run = [kept, &sources](NodeId) { kept->last = &kept->search.run({.sources = sources}); },
            .result =
                [kept] {
                  return Reach{numbers_of(kept->last->reached), numbers_of(kept->last->eccentricity)}.numbers();
                }};
  });
}

}  // namespace bitgraph::cli
