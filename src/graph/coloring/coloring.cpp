// SPDX-License-Identifier: Apache-2.0
#include "graph/coloring/coloring.hpp"

#include <bitgraph/core/random.hpp>
#include <bitgraph/graph/coloring.hpp>

#include "graph/packed_graph/views.hpp"

#include <algorithm>
#include <type_traits>

namespace bitgraph {

namespace {

constexpr std::size_t grain = std::size_t{1} << 12;

/// Numbers of 32 bits in another order: different ones stay different.
std::uint32_t scrambled(std::uint32_t number, std::uint64_t seed) {
  const auto keys = random_words({seed, 41, 0}, 0);
  for (const std::uint32_t key : keys) {
    number ^= key;
    number *= 0x9E3779B1U;  // odd: invertible
    number ^= number >> 15;
  }
  return number;
}

}  // namespace

ColoringSearch::ColoringSearch(const PackedGraph& graph, std::uint64_t seed) : graph_(graph) {
  static_cast<void>(graph.in());
  const Device& device = graph.device();
  const std::size_t n = graph.num_nodes();
  priority_ = Buffer<std::uint64_t>(n, device);
  open_ = Buffer<NodeId>(n, device);
  if (!graph.new_id().empty()) color_ = Buffer<std::int32_t>(n, device);
  with_host_backend(device, "greedy colouring", [&](const auto&) {
    with_views(graph, [&](const auto& out, const auto& in) {
      const UndirectedView<std::remove_cvref_t<decltype(out)>> view{out, in, graph.symmetric()};
      parallel_for(device, n, grain, [&](std::size_t i) {
        const auto row = static_cast<NodeId>(i);
        priority_[i] = (std::uint64_t{view.degree(row)} << 32) | scrambled(graph.node_of(row), seed);
      });
    });
  });
}

const Coloring& ColoringSearch::run() {
  const Device& device = graph_.device();
  const std::size_t n = graph_.num_nodes();
  if (result_.color.size() != n) result_.color = Buffer<std::int32_t>(n, device);
  const bool reordered = !graph_.new_id().empty();
  Buffer<std::int32_t>& color = reordered ? color_ : result_.color;
  color.fill(-1);
  with_host_backend(device, "greedy colouring", [&](const auto& backend) {
    with_views(graph_, [&](const auto& out, const auto& in) {
      using Graph = std::remove_cvref_t<decltype(out)>;
      const ColoringArgs<Graph> args{{out, in, graph_.symmetric()}, priority_.data(), color.data(), open_.data()};
      color_rows(backend, args);
    });
  });
  // Greedy colours leave no gap: the largest one tells how many there are.
  result_.count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (reordered) result_.color[graph_.node_of(static_cast<NodeId>(i))] = color[i];
    result_.count = std::max(result_.count, color[i] + 1);
  }
  return result_;
}

Coloring greedy_coloring(const PackedGraph& graph, std::uint64_t seed) {
  ColoringSearch search(graph, seed);
  search.run();
  return search.take();
}

}  // namespace bitgraph
