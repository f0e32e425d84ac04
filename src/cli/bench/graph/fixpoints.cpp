// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/components.hpp>
#include <bitgraph/graph/pagerank.hpp>
#include <bitgraph/graph/triangles.hpp>

#include "cli/bench/graph/arena.hpp"

namespace bitgraph::cli {

namespace {

constexpr int iterations = 20;

}  // namespace

void bench_pagerank(Arena& arena) {
  Job job{.algorithm = "pagerank",
          .variant = std::to_string(iterations) + " iterations",
          .ways = arena.peer().pagerank(iterations)};
  // The rival adds up a hub's neighbours one by one in single precision.
  job.tolerance = 1e-3;
  job.floor = 1.0 / arena.undirected().nrows();
  arena.compete(std::move(job), Workload::ranks, [](const PackedGraph& graph) -> OurWay {
    auto ranks = std::make_shared<PageRank>(graph, PageRankOptions{.tolerance = 0, .max_iterations = iterations});
    auto last = std::make_shared<const PageRankResult*>();
    return {.run = [=](NodeId) { *last = &ranks->run(); },
            .result =
                [=] {
                  const Buffer<double> rank = (*last)->rank.to(Device{});
                  return std::vector<double>(rank.begin(), rank.end());
                }};
  });
}

void bench_components(Arena& arena) {
  arena.compete({.algorithm = "cc", .variant = "", .ways = arena.peer().components()}, Workload::traversal,
                [](const PackedGraph& graph) -> OurWay {
                  auto search = std::make_shared<ConnectedComponents>(graph);
                  auto last = std::make_shared<const Components*>();
                  return {.run = [=](NodeId) { *last = &search->run(); },
                          .result =
                              [=] {
                                const Buffer<NodeId> label = (*last)->label.to(Device{});
                                return std::vector<double>(label.begin(), label.end());
                              }};
                });
}

void bench_triangles(Arena& arena) {
  // From the packed graph: what either side prepares for counting is part of the time, but the rival's sorting.
  arena.compete({.algorithm = "tc", .variant = "", .ways = arena.peer().triangles()}, Workload::counting,
                [](const PackedGraph& graph) -> OurWay {
                  auto count = std::make_shared<std::uint64_t>(0);
                  return {.run = [count, &graph](NodeId) { *count = count_triangles(graph); },
                          .result = [count] { return std::vector{static_cast<double>(*count)}; }};
                });
}

}  // namespace bitgraph::cli
