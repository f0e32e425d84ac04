// SPDX-License-Identifier: Apache-2.0
#include "graph/coloring/coloring.hpp"

#include <bitgraph/graph/coloring.hpp>

#include "graph/coloring/scramble.hpp"
#include "graph/packed_graph/views.hpp"
#ifdef BITGRAPH_WITH_CUDA
#include "graph/coloring/cuda.cuh"
#endif

#include <algorithm>
#include <type_traits>

namespace bitgraph {

namespace {

constexpr std::size_t grain = std::size_t{1} << 12;

}  // namespace

ColoringSearch::ColoringSearch(const PackedGraph& graph, std::uint64_t seed) : graph_(graph) {
  static_cast<void>(graph.in());
  const Device& device = graph.device();
  const std::size_t n = graph.num_nodes();
#ifdef BITGRAPH_WITH_CUDA
  if (backend_for(device) == BackendKind::cuda) {
    on_cuda_ = std::make_shared<CudaColoring>(graph, seed);
    return;
  }
#endif
  priority_ = Buffer<std::uint64_t>(n, device);
  open_ = Buffer<NodeId>(n, device);
  if (!graph.new_id().empty()) color_ = Buffer<std::int32_t>(n, device);
  const ScrambleKeys keys = scramble_keys(seed);
  with_host_backend(device, "greedy colouring", [&](const auto&) {
    with_views(graph, [&](const auto& out, const auto& in) {
      const UndirectedView<std::remove_cvref_t<decltype(out)>> view{out, in, graph.symmetric()};
      parallel_for(device, n, grain, [&](std::size_t i) {
        const auto row = static_cast<NodeId>(i);
        priority_[i] = (std::uint64_t{view.degree(row)} << 32) | scrambled(graph.node_of(row), keys);
      });
    });
  });
}

const Coloring& ColoringSearch::run() {
  const Device& device = graph_.device();
  const std::size_t n = graph_.num_nodes();
  if (result_.color.size() != n) result_.color = Buffer<std::int32_t>(n, device);
#ifdef BITGRAPH_WITH_CUDA
  if (on_cuda_) {
    result_.count = on_cuda_->run(result_.color.data());
    return result_;
  }
#endif
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
