// SPDX-License-Identifier: Apache-2.0
#include "graph/coloring/coloring.hpp"

#include <bitgraph/graph/coloring.hpp>

#include "graph/coloring/engine.hpp"
#include "graph/coloring/scramble.hpp"

#include <algorithm>
#include <type_traits>

namespace bitgraph {

namespace {

template <class Backend>
class HostColoring final : public ColoringEngine {
 public:
  HostColoring(const Backend& backend, const PackedGraph& graph, std::uint64_t seed)
      : backend_(backend),
        graph_(graph),
        order_(graph, [keys = scramble_keys(seed)](NodeId node, std::uint32_t degree) {
          return (std::uint64_t{degree} << 32) | scrambled(node, keys);
        }) {
    if (!graph.new_id().empty()) row_color_ = Buffer<std::int32_t>(graph.num_nodes(), graph.device());
  }

  std::int32_t run(std::int32_t* color) override {
    const NodeId n = graph_.num_nodes();
    const bool reordered = !row_color_.empty();
    std::int32_t* of_row = reordered ? row_color_.data() : color;
    std::fill_n(of_row, n, -1);
    with_undirected_view(graph_, [&]<class Graph>(const UndirectedView<Graph>& view) {
      color_rows(backend_, ColoringArgs<Graph>{view, order_.priority.data(), of_row, order_.open.data()});
    });
    // Greedy colours leave no gap: the largest one tells how many there are.
    std::int32_t count = 0;
    for (NodeId row = 0; row < n; ++row) {
      if (reordered) color[graph_.node_of(row)] = of_row[row];
      count = std::max(count, of_row[row] + 1);
    }
    return count;
  }

 private:
  Backend backend_;
  const PackedGraph& graph_;
  PriorityOrder order_;
  Buffer<std::int32_t> row_color_;  ///< only where rows are in another order than the caller's nodes
};

template <class Backend>
std::unique_ptr<ColoringEngine> make_coloring_engine(const Backend& backend, const PackedGraph& graph,
                                                     std::uint64_t seed) {
  return std::make_unique<HostColoring<Backend>>(backend, graph, seed);
}

}  // namespace

GreedyColoring::GreedyColoring(const PackedGraph& graph, std::uint64_t seed) : graph_(&graph) {
  static_cast<void>(graph.in());
  engine_ = with_backend(graph.device(), "greedy colouring",
                         [&](const auto& backend) { return make_coloring_engine(backend, graph, seed); });
}
GreedyColoring::GreedyColoring(GreedyColoring&&) noexcept = default;
GreedyColoring& GreedyColoring::operator=(GreedyColoring&&) noexcept = default;
GreedyColoring::~GreedyColoring() = default;

const Coloring& GreedyColoring::run() {
  allocate_result(result_.color, graph_->num_nodes(), graph_->device());
  result_.count = engine_->run(result_.color.data());
  return result_;
}

Coloring greedy_coloring(const PackedGraph& graph, std::uint64_t seed) {
  GreedyColoring coloring(graph, seed);
  coloring.run();
  return coloring.take();
}

}  // namespace bitgraph
