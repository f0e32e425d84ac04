// SPDX-License-Identifier: Apache-2.0
#include "graph/components/components.hpp"
#include "graph/packed_graph/views.hpp"
#ifdef BITGRAPH_WITH_CUDA
#include "graph/components/cuda.cuh"
#endif

#include <bitgraph/graph/components.hpp>

#include <fmt/format.h>

#include <type_traits>

namespace bitgraph {

Components connected_components(const CsrPattern& a) {
  if (a.nrows() != a.ncols()) {
    fail(ErrorCode::usage,
         fmt::format("components: the matrix is {} x {}, a square one is needed", a.nrows(), a.ncols()));
  }
  if (!a.device().is_host())
    fail(ErrorCode::not_possible, a.device().name() + ": components of a pattern are for the host: pack the graph");
  Components result{Buffer<NodeId>(a.nrows(), a.device())};
  result.count =
      components(Reference{}, ComponentsArgs<CsrPatternView>{.out = a.view(), .parent = result.label.data()});
  return result;
}

ComponentSearch::ComponentSearch(const PackedGraph& graph) : graph_(graph) {
#ifdef BITGRAPH_WITH_CUDA
  if (backend_for(graph.device()) == BackendKind::cuda) {
    on_cuda_ = std::make_shared<CudaComponents>(graph);
    return;
  }
#endif
  if (graph.new_id().empty()) return;
  parent_ = Buffer<NodeId>(graph.num_nodes(), graph.device());
  smallest_ = Buffer<NodeId>(graph.num_nodes());
}

const Components& ComponentSearch::run() {
  const std::size_t n = graph_.num_nodes();
  if (result_.label.size() != n) result_.label = Buffer<NodeId>(n, graph_.device());
#ifdef BITGRAPH_WITH_CUDA
  if (on_cuda_) {
    result_.count = on_cuda_->run(result_.label.data());
    return result_;
  }
#endif
  const bool reordered = !graph_.new_id().empty();
  NodeId* parent = reordered ? parent_.data() : result_.label.data();
  result_.count = with_host_backend(graph_.device(), "connected components", [&](const auto& backend) {
    return with_views(graph_, [&](const auto& out, const auto& in) {
      using Graph = std::remove_cvref_t<decltype(out)>;
      return components(backend, ComponentsArgs<Graph>{out, in, graph_.symmetric(), graph_.has_in(), parent});
    });
  });
  if (reordered) {
    // Nodes in rising order: the first one that comes to a root is the smallest of the component.
    constexpr NodeId none = ~NodeId{0};
    smallest_.fill(none);
    for (NodeId node = 0; node < n; ++node) {
      NodeId& smallest = smallest_[parent[graph_.row_of(node)]];
      if (smallest == none) smallest = node;
      result_.label[node] = smallest;
    }
  }
  return result_;
}

Components connected_components(const PackedGraph& graph) {
  ComponentSearch search(graph);
  search.run();
  return search.take();
}

}  // namespace bitgraph
