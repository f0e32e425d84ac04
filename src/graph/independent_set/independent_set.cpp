// SPDX-License-Identifier: Apache-2.0
#include "graph/independent_set/independent_set.hpp"

#include <bitgraph/core/random.hpp>
#include <bitgraph/graph/independent_set.hpp>

#include "graph/packed_graph/views.hpp"
#ifdef BITGRAPH_WITH_CUDA
#include "graph/independent_set/cuda.cuh"
#endif

#include <type_traits>

namespace bitgraph {

namespace {

constexpr std::size_t grain = std::size_t{1} << 12;

}  // namespace

IndependentSetSearch::IndependentSetSearch(const PackedGraph& graph, std::uint64_t seed) : graph_(graph) {
  static_cast<void>(graph.in());
  const Device& device = graph.device();
  const std::size_t n = graph.num_nodes();
#ifdef BITGRAPH_WITH_CUDA
  if (backend_for(device) == BackendKind::cuda) {
    on_cuda_ = std::make_shared<CudaIndependentSet>(graph, seed);
    return;
  }
#endif
  priority_ = Buffer<std::uint64_t>(n, device);
  state_ = Buffer<std::uint8_t>(n, device);
  open_ = Buffer<NodeId>(n, device);
  with_host_backend(device, "maximal independent set", [&](const auto&) {
    with_views(graph, [&](const auto& out, const auto& in) {
      const UndirectedView<std::remove_cvref_t<decltype(out)>> view{out, in, graph.symmetric()};
      parallel_for(device, n, grain, [&](std::size_t i) {
        // The node's own number makes all priorities different.
        const auto row = static_cast<NodeId>(i);
        const NodeId node = graph.node_of(row);
        const std::uint64_t drawn = random_bits({seed, 40, 0}, node) >> 32;
        const std::uint64_t weighed = drawn / (2 * std::uint64_t{view.degree(row)} + 1);
        priority_[i] = (weighed << 32) | (~std::uint64_t{node} & 0xFFFFFFFFU);
      });
    });
  });
}

const IndependentSet& IndependentSetSearch::run() {
  const Device& device = graph_.device();
  const std::size_t n = graph_.num_nodes();
  if (result_.member.size() != n) result_.member = Buffer<std::uint8_t>(n, device);
#ifdef BITGRAPH_WITH_CUDA
  if (on_cuda_) {
    result_.size = on_cuda_->run(result_.member.data());
    return result_;
  }
#endif
  state_.fill(independent_set_state::open);
  with_host_backend(device, "maximal independent set", [&](const auto& backend) {
    with_views(graph_, [&](const auto& out, const auto& in) {
      using Graph = std::remove_cvref_t<decltype(out)>;
      const IndependentSetArgs<Graph> args{
          {out, in, graph_.symmetric()}, priority_.data(), state_.data(), open_.data()};
      independent_set(backend, args);
    });
  });
  std::atomic<NodeId> size{0};
  parallel_ranges(device, n, grain, [&](Range range) {
    NodeId members = 0;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const bool inside = state_[i] == independent_set_state::inside;
      result_.member[graph_.node_of(static_cast<NodeId>(i))] = inside ? 1 : 0;
      members += inside ? 1 : 0;
    }
    size += members;
  });
  result_.size = size;
  return result_;
}

IndependentSet maximal_independent_set(const PackedGraph& graph, std::uint64_t seed) {
  IndependentSetSearch search(graph, seed);
  search.run();
  return search.take();
}

}  // namespace bitgraph
