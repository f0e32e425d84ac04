// SPDX-License-Identifier: Apache-2.0
// Strongly connected components of a directed graph. Two nodes are in one component if each one reaches the other. In
// a symmetric graph these are the connected components, and strongly_connected_components() computes those.
//
// Encoding. The graph is a pattern CSR or a matrix of bit tiles. The host reads out-edges only. Over tiles, a frame of
// the walk holds the bits of one row of a tile that are not yet visited. Labels are renumbered to the smallest node of
// each component.
//
// Methods.
//   host       cpu.cpp is Tarjan's algorithm on one thread. It visits every edge once. An array of frames replaces the
//              recursion, so a long path does not overflow the call stack.
//   CUDA       cuda.cu colours the rows, because Tarjan's walk has no parallel steps. It first removes rows without
//              in-edges or without out-edges, again and again: each one is a component of its own. Every other row
//              then sends its colour along its edges, and the highest colour wins (Orzan, "On distributed verification
//              and verified distribution", 2004). The rows that lead back to the origin of their colour, over rows of
//              that colour, are a component. The other rows repeat this within their colour.
//   reference  reference.cpp intersects the rows that a row reaches with the rows that reach it.
#include "graph/strong_components/strong_components.hpp"

#include <bitgraph/graph/components.hpp>

#include "graph/components/engine.hpp"
#include "graph/labels.hpp"

#include <type_traits>

namespace bitgraph {

namespace {

template <class Backend>
class HostStrongComponents final : public ComponentsEngine {
 public:
  HostStrongComponents(const Backend& backend, const PackedGraph& graph)
      : backend_(backend),
        graph_(graph),
        component_(graph.num_nodes(), graph.device()),
        lowest_(graph.num_nodes(), graph.device()),
        stack_(graph.num_nodes(), graph.device()),
        smallest_(graph.num_nodes(), graph.device()),
        frames_(graph.num_nodes(), graph.device()) {}

  NodeId run(NodeId* label) override {
    const NodeId count = with_view(graph_.out(), [&](const auto& out) {
      using Graph = std::remove_cvref_t<decltype(out)>;
      return strong_components(
          backend_, StrongComponentsArgs<Graph>{out, component_.data(), lowest_.data(), stack_.data(), frames_.data()});
    });
    label_by_smallest_node(graph_, component_.data(), smallest_.data(), label);
    return count;
  }

 private:
  Backend backend_;
  const PackedGraph& graph_;
  Buffer<NodeId> component_, lowest_, stack_, smallest_;
  Buffer<StrongComponentsFrame> frames_;
};

template <class Backend>
std::unique_ptr<ComponentsEngine> make_strong_components_engine(const Backend& backend, const PackedGraph& graph) {
  return std::make_unique<HostStrongComponents<Backend>>(backend, graph);
}

}  // namespace

StronglyConnectedComponents::StronglyConnectedComponents(const PackedGraph& graph)
    : graph_(&graph), engine_(with_backend(graph.device(), "strong components", [&](const auto& backend) {
        return make_strong_components_engine(backend, graph);
      })) {}
StronglyConnectedComponents::StronglyConnectedComponents(StronglyConnectedComponents&&) noexcept = default;
StronglyConnectedComponents& StronglyConnectedComponents::operator=(StronglyConnectedComponents&&) noexcept = default;
StronglyConnectedComponents::~StronglyConnectedComponents() = default;

const Components& StronglyConnectedComponents::run() {
  allocate_result(result_.label, graph_->num_nodes(), graph_->device());
  result_.count = engine_->run(result_.label.data());
  return result_;
}

Components strongly_connected_components(const PackedGraph& graph) {
  if (graph.symmetric()) return connected_components(graph);
  StronglyConnectedComponents components(graph);
  components.run();
  return components.take();
}

}  // namespace bitgraph
