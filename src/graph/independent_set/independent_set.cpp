// SPDX-License-Identifier: Apache-2.0
// A maximal independent set of the undirected graph (Luby 1986; Bit-GraphBLAS, Table IV).
//
// The idea. Every row has a priority. A row enters the set when no neighbour of higher priority is open or inside. A
// row with a neighbour of higher priority inside stays outside. The priorities are drawn once, so the result is the
// same for every number of threads.
//
// Encoding. The graph is a pattern CSR or a matrix of bit tiles, read in both directions (UndirectedView). A row has a
// state of one byte: open, inside or outside. Its priority is a random number divided by 2 * degree + 1 in the high
// half of 64 bits. Rows of low degree tend to enter first, which makes the set larger. The low half comes from the
// node's number and makes all priorities different.
//
// Methods. Bit-GraphBLAS computes a round as a product over max-times, which reads the whole row of every node. Here a
// row stops at the first neighbour that decides it, and only open rows are looked at again.
//   host  cpu.cpp gives each thread a range of rows. The thread tries its open rows again until all are decided, and
//         does not wait for a round to end (decide_all).
//   CUDA  cuda.cu runs in one cooperative launch. A row stops at the first open neighbour of higher priority and
//         continues there in the next round. A row that enters the set puts its neighbours outside.
#include "graph/independent_set/independent_set.hpp"

#include <bitgraph/core/random.hpp>
#include <bitgraph/graph/independent_set.hpp>

#include "graph/independent_set/engine.hpp"

#include <algorithm>
#include <atomic>
#include <type_traits>

namespace bitgraph {

namespace {

constexpr std::size_t grain = std::size_t{1} << 12;

template <class Backend>
class HostIndependentSet final : public IndependentSetEngine {
 public:
  HostIndependentSet(const Backend& backend, const PackedGraph& graph, std::uint64_t seed)
      : backend_(backend),
        graph_(graph),
        order_(graph,
               [seed](NodeId node, std::uint32_t degree) {
                 // The node's own number makes all priorities different.
                 const std::uint64_t drawn = random_bits({seed, 40, 0}, node) >> 32;
                 const std::uint64_t weighed = drawn / (2 * std::uint64_t{degree} + 1);
                 return (weighed << 32) | (~std::uint64_t{node} & 0xFFFFFFFFU);
               }),
        state_(graph.num_nodes(), graph.device()) {}

  NodeId run(std::uint8_t* member) override {
    state_.fill(independent_set_state::open);
    with_undirected_view(graph_, [&]<class Graph>(const UndirectedView<Graph>& view) {
      independent_set(backend_,
                      IndependentSetArgs<Graph>{view, order_.priority.data(), state_.data(), order_.open.data()});
    });
    std::atomic<NodeId> size{0};
    parallel_ranges(graph_.device(), graph_.num_nodes(), grain, [&](Range range) {
      NodeId members = 0;
      for (std::size_t i = range.begin; i < range.end; ++i) {
        const bool inside = state_[i] == independent_set_state::inside;
        member[graph_.node_of(static_cast<NodeId>(i))] = inside ? 1 : 0;
        members += inside ? 1 : 0;
      }
      size += members;
    });
    return size;
  }

 private:
  Backend backend_;
  const PackedGraph& graph_;
  PriorityOrder order_;
  Buffer<std::uint8_t> state_;
};

template <class Backend>
std::unique_ptr<IndependentSetEngine> make_independent_set_engine(const Backend& backend, const PackedGraph& graph,
                                                                  std::uint64_t seed) {
  return std::make_unique<HostIndependentSet<Backend>>(backend, graph, seed);
}

}  // namespace

MaximalIndependentSet::MaximalIndependentSet(const PackedGraph& graph, std::uint64_t seed) : graph_(&graph) {
  static_cast<void>(graph.in());
  engine_ = with_backend(graph.device(), "maximal independent set",
                         [&](const auto& backend) { return make_independent_set_engine(backend, graph, seed); });
}
MaximalIndependentSet::MaximalIndependentSet(MaximalIndependentSet&&) noexcept = default;
MaximalIndependentSet& MaximalIndependentSet::operator=(MaximalIndependentSet&&) noexcept = default;
MaximalIndependentSet::~MaximalIndependentSet() = default;

const IndependentSet& MaximalIndependentSet::run() {
  allocate_result(result_.member, graph_->num_nodes(), graph_->device());
  result_.size = engine_->run(result_.member.data());
  return result_;
}

IndependentSet maximal_independent_set(const PackedGraph& graph, std::uint64_t seed) {
  MaximalIndependentSet search(graph, seed);
  search.run();
  return search.take();
}

}  // namespace bitgraph
