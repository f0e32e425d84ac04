// SPDX-License-Identifier: Apache-2.0
// Connected components of the undirected graph: Afforest (Sutton, Ben-Nun, Barak 2018).
//
// The idea. A forest of union-find trees stands for the components. A few edges of every row join most rows to one
// large tree. The rows of that tree are then skipped: an edge between them would join nothing, and every other edge is
// seen from its other end.
//
// Encoding. The graph is a pattern CSR or a matrix of bit tiles. The forest is one array of parents: a row points to a
// smaller row, a root points to itself. The array is the labels in the end. If rows are in another order than the
// caller's nodes, the labels are renumbered to the smallest node of each component.
//
// Methods on the host (cpu.cpp).
//   first edge   Every row points to its smallest neighbour if that is smaller. No atomic operation is needed.
//   second edge  A sample of rows (sample_size) shows the largest tree. If it has less than nearly_all of the sample,
//                the second entries of all rows are linked with compare-and-swap.
//   the rest     The rows outside the largest tree link all their edges. If the graph is directed, they link the
//                in-edges too. Without stored in-edges no row is skipped.
// A CsrPattern that is not packed goes to the reference (reference.cpp).
//
// CUDA (cuda.cu). The same steps run in one cooperative launch. Rows with more edges than components_long_row wait in
// a list of their own.
#include "graph/components/components.hpp"

#include <bitgraph/graph/components.hpp>

#include "graph/components/engine.hpp"
#include "graph/labels.hpp"
#include "graph/packed_graph/views.hpp"

#include <fmt/format.h>

#include <type_traits>

namespace bitgraph {

namespace {

template <class Backend>
class HostComponents final : public ComponentsEngine {
 public:
  HostComponents(const Backend& backend, const PackedGraph& graph) : backend_(backend), graph_(graph) {
    if (graph.new_id().empty()) return;
    parent_ = Buffer<NodeId>(graph.num_nodes(), graph.device());
    smallest_ = Buffer<NodeId>(graph.num_nodes(), graph.device());
  }

  NodeId run(NodeId* label) override {
    NodeId* parent = parent_.empty() ? label : parent_.data();
    const NodeId count = with_views(graph_, [&](const auto& out, const auto& in) {
      using Graph = std::remove_cvref_t<decltype(out)>;
      return components(backend_, ComponentsArgs<Graph>{out, in, graph_.symmetric(), graph_.has_in(), parent});
    });
    if (!parent_.empty()) label_by_smallest_node(graph_, parent, smallest_.data(), label);
    return count;
  }

 private:
  Backend backend_;
  const PackedGraph& graph_;
  Buffer<NodeId> parent_, smallest_;  ///< only where rows are in another order than the caller's nodes
};

template <class Backend>
std::unique_ptr<ComponentsEngine> make_components_engine(const Backend& backend, const PackedGraph& graph) {
  return std::make_unique<HostComponents<Backend>>(backend, graph);
}

}  // namespace

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

ConnectedComponents::ConnectedComponents(const PackedGraph& graph)
    : graph_(&graph), engine_(with_backend(graph.device(), "connected components", [&](const auto& backend) {
        return make_components_engine(backend, graph);
      })) {}
ConnectedComponents::ConnectedComponents(ConnectedComponents&&) noexcept = default;
ConnectedComponents& ConnectedComponents::operator=(ConnectedComponents&&) noexcept = default;
ConnectedComponents::~ConnectedComponents() = default;

const Components& ConnectedComponents::run() {
  allocate_result(result_.label, graph_->num_nodes(), graph_->device());
  result_.count = engine_->run(result_.label.data());
  return result_;
}

Components connected_components(const PackedGraph& graph) {
  ConnectedComponents components(graph);
  components.run();
  return components.take();
}

}  // namespace bitgraph
