// SPDX-License-Identifier: Apache-2.0
// Greedy colouring of the undirected graph (Jones and Plassmann 1993).
//
// The idea. Every row has a priority. A row waits until all neighbours of higher priority have a colour. It then takes
// the smallest colour that none of them has. The result is that of the greedy algorithm in the order of the
// priorities, for every number of threads.
//
// Encoding. The graph is a pattern CSR or a matrix of bit tiles, read in both directions (UndirectedView). A priority
// is a 64-bit number: the degree in the high half, and a random permutation of the node's number in the low half
// (scramble.hpp) to break ties. So rows with many neighbours choose first. A colour is a 32-bit number, -1 while the
// row has none.
//
// Methods.
//   host  cpu.cpp gives each thread a range of rows. The thread tries its open rows again until all have a colour, and
//         does not wait for a round to end (decide_all). It collects the taken colours as the bits of a word, 64
//         colours at a time.
//   CUDA  cuda.cu runs in one cooperative launch. It collects the neighbours of higher priority of each row once. A
//         row remembers the first of them without a colour and continues there in the next round. All blocks share the
//         collection for a row with more edges than long_row.
// A product over max-times would find the rows of a round, but not the smallest free colour.
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
