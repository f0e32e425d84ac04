// SPDX-License-Identifier: Apache-2.0
#include "graph/strong_components/strong_components.hpp"

#include <bitgraph/graph/components.hpp>

#ifdef BITGRAPH_WITH_CUDA
#include "graph/strong_components/cuda.cuh"
#endif

#include <algorithm>
#include <type_traits>

namespace bitgraph {

namespace {

constexpr std::size_t words_a_frame = sizeof(StrongComponentsFrame) / sizeof(std::uint64_t);

}  // namespace

StrongComponentSearch::StrongComponentSearch(const PackedGraph& graph) : graph_(graph) {
  const std::size_t n = graph.num_nodes();
  const Device& device = graph.device();
#ifdef BITGRAPH_WITH_CUDA
  if (backend_for(device) == BackendKind::cuda) {
    on_cuda_ = std::make_shared<CudaStrongComponents>(graph);
    return;
  }
#endif
  component_ = Buffer<NodeId>(n, device);
  lowest_ = Buffer<NodeId>(n, device);
  stack_ = Buffer<NodeId>(n, device);
  smallest_ = Buffer<NodeId>(n, device);
  frames_ = Buffer<std::uint64_t>(n * words_a_frame, device);
}

const Components& StrongComponentSearch::run() {
  const NodeId n = graph_.num_nodes();
  if (result_.label.size() != n) result_.label = Buffer<NodeId>(n, graph_.device());
#ifdef BITGRAPH_WITH_CUDA
  if (on_cuda_) {
    result_.count = on_cuda_->run(result_.label.data());
    return result_;
  }
#endif
  result_.count = with_host_backend(graph_.device(), "strong components", [&](const auto& backend) {
    return with_view(graph_.out(), [&](const auto& out) {
      using Graph = std::remove_cvref_t<decltype(out)>;
      return strong_components(backend,
                               StrongComponentsArgs<Graph>{out, component_.data(), lowest_.data(), stack_.data(),
                                                           reinterpret_cast<StrongComponentsFrame*>(frames_.data())});
    });
  });
  // Nodes in rising order: the first one of a component is its smallest.
  constexpr NodeId none = ~NodeId{0};
  smallest_.fill(none);
  for (NodeId node = 0; node < n; ++node) {
    NodeId& smallest = smallest_[component_[graph_.row_of(node)]];
    smallest = std::min(smallest, node);
    result_.label[node] = smallest;
  }
  return result_;
}

Components strongly_connected_components(const PackedGraph& graph) {
  if (graph.symmetric()) return connected_components(graph);
  StrongComponentSearch search(graph);
  search.run();
  return search.take();
}

}  // namespace bitgraph
