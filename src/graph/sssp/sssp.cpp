// SPDX-License-Identifier: Apache-2.0
// Shortest paths from one source: delta-stepping (Meyer and Sanders 2003).
//
// The idea. A row with the distance d belongs to the bucket d / delta. The search settles the buckets one after
// another. Within a bucket it relaxes the edges of the rows until no distance falls. Wide buckets repeat work, narrow
// buckets do not fill the threads. chosen_delta() takes a width from the largest weight and the mean degree.
//
// Encoding. The graph is a pattern CSR or a matrix of bit tiles. Its weights are an array in the order of the entries.
// Integer weights are stored as bit planes, and the engine unpacks them once. Integer distances take integer weights;
// float distances take both kinds.
//
// Methods.
//   no weights  sssp(PackedGraph) is a breadth-first search: the distance of a node is its level.
//   host        cpu.cpp keeps the buckets in a ring of most_slots slots at most, as lists of chunks of rows. One
//               thread runs a bucket of few rows alone (most_alone, edges_alone). All threads share a larger bucket.
//   CUDA        cuda.cu keeps no buckets. A bit marks every row whose distance fell. Each round queues the marked rows
//               that lie before the end of the current bucket. A round costs more there and an edge less, so
//               chosen_delta() takes wider buckets.
//   reference   reference.cpp is Bellman-Ford.
#include "graph/sssp/sssp.hpp"

#include <bitgraph/graph/sssp.hpp>
#include <bitgraph/ops/semiring.hpp>

#include "core/threads/parallel.hpp"
#include "graph/source.hpp"
#include "graph/sssp/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>

namespace bitgraph {

namespace {

constexpr std::size_t grain = std::size_t{1} << 14;
constexpr std::size_t most_threads = 64;

int workers_of(const Device& device) { return std::min<int>(device.threads(), most_threads); }

/// Wide buckets repeat work, narrow ones wait for one another. Half an edge of a row within its bucket was best, or
/// nearly, on all graphs measured; on a CUDA device, where a round costs more and an edge less, two edges.
double chosen_delta(const WeightedGraph& graph) {
  const double edges = graph.graph().device().is_host() ? 0.5 : 2;
  const double degree =
      std::max(1.0, static_cast<double>(graph.graph().num_edges()) / std::max<double>(1, graph.graph().num_nodes()));
  return std::max(edges * graph.largest() / degree, graph.has_integers() ? 1.0 : 0.0);
}

void check_weights(bool has_integers, bool wants_integers) {
  if (wants_integers && !has_integers)
    fail(ErrorCode::usage, "sssp: the weights are real numbers, and whole distances were asked for: ask for float");
}

template <class Backend, class Distance>
class HostSssp final : public SsspEngine<Distance> {
 public:
  HostSssp(const Backend& backend, const WeightedGraph& graph) : backend_(backend), graph_(graph) {
    const std::size_t n = graph.graph().num_nodes();
    const Device& device = graph.graph().device();
    unpack_weights_of(graph);
    const auto threads = static_cast<std::size_t>(workers_of(device));
    if (!graph.graph().new_id().empty()) row_distance_ = Buffer<Distance>(n, device);
    settled_ = Buffer<Distance>(n, device);
    chunks_ = Buffer<NodeId>((4 * n / chunk_capacity + 64 * threads + 1024) * chunk_size, device);
    buckets_ = Buffer<NodeId>(threads * most_slots, device);
  }

  NodeId run(NodeId source_row, double delta, Distance* distance) override {
    // The ring has slots for the largest weight, and as many more as rounding and the current bucket need.
    const double largest = graph_.largest();
    delta = std::max(delta, largest / (most_slots - 4));
    if constexpr (!std::is_same_v<Distance, float>)
      delta = static_cast<double>(std::bit_floor(static_cast<std::uint64_t>(std::clamp(delta, 1.0, 0x1.0p30))));
    const double per_delta = delta > 0 ? 1 / delta : 1;
    const auto slots = std::bit_ceil(static_cast<std::size_t>(std::min(largest * per_delta, most_slots - 4.0)) + 4);
    with_view(graph_.graph().out(), [&]<class View>(const View& out) {
      const SsspArgs<View, Weight, Distance> args{out,
                                                  graph_.row_start(),
                                                  weights_,
                                                  source_row,
                                                  per_delta,
                                                  slots,
                                                  row_distance_.empty() ? distance : row_distance_.data(),
                                                  settled_.data(),
                                                  chunks_.data(),
                                                  chunks_.size() / chunk_size,
                                                  buckets_.data(),
                                                  workers_of(graph_.graph().device())};
      sssp(backend_, args);
    });
    return store(distance);
  }

 private:
  using Weight = std::conditional_t<std::is_same_v<Distance, float>, float, std::uint8_t>;

  void unpack_weights_of(const WeightedGraph& graph) {
    const Device& device = graph.graph().device();
    if constexpr (std::is_same_v<Distance, float>) {
      if (graph.has_integers()) {
        const auto bytes = unpack_weights(graph.integers(), device);
        own_weights_ = Buffer<float>(bytes.size(), device);
        std::copy(bytes.begin(), bytes.end(), own_weights_.begin());
      }
      weights_ = graph.has_integers() ? own_weights_.data() : graph.reals().data();
    } else {
      own_weights_ = unpack_weights(graph.integers(), device);
      weights_ = own_weights_.data();
    }
  }

  /// Brings the distances to the caller's numbering and returns how many nodes have one.
  NodeId store(Distance* distance) const {
    const PackedGraph& graph = graph_.graph();
    const NodeId* row = graph.new_id().data();
    std::atomic<std::size_t> reached{0};
    parallel_ranges(graph.device(), graph.num_nodes(), grain, [&](Range range) {
      std::size_t count = 0;
      for (std::size_t i = range.begin; i < range.end; ++i) {
        if (!row_distance_.empty()) distance[i] = row_distance_[row[i]];
        count += distance[i] != unreached<Distance>() ? 1U : 0U;
      }
      reached.fetch_add(count, std::memory_order_relaxed);
    });
    return static_cast<NodeId>(reached.load());
  }

  Backend backend_;
  const WeightedGraph& graph_;
  Buffer<Weight> own_weights_;
  const Weight* weights_ = nullptr;
  Buffer<Distance> row_distance_;  ///< by row, where rows are in another order than the caller's nodes
  Buffer<Distance> settled_;
  Buffer<NodeId> chunks_;
  Buffer<NodeId> buckets_;
};

template <class Distance, class Backend>
std::unique_ptr<SsspEngine<Distance>> make_sssp_engine(const Backend& backend, const WeightedGraph& graph) {
  return std::make_unique<HostSssp<Backend, Distance>>(backend, graph);
}

}  // namespace

template <class Distance>
ShortestPaths<Distance>::ShortestPaths(const WeightedGraph& graph) : graph_(&graph) {
  check_weights(graph.has_integers(), std::is_same_v<Distance, std::int32_t>);
  const Device& device = graph.graph().device();
  engine_ =
      with_backend(device, "sssp", [&](const auto& backend) { return make_sssp_engine<Distance>(backend, graph); });
  allocate_result(result_.distance, graph.graph().num_nodes(), device);
}
template <class Distance>
ShortestPaths<Distance>::ShortestPaths(ShortestPaths&&) noexcept = default;
template <class Distance>
ShortestPaths<Distance>& ShortestPaths<Distance>::operator=(ShortestPaths&&) noexcept = default;
template <class Distance>
ShortestPaths<Distance>::~ShortestPaths() = default;

template <class Distance>
const SsspResult<Distance>& ShortestPaths<Distance>::run(const SsspOptions& options) {
  const PackedGraph& graph = graph_->graph();
  check_source(options.source, graph.num_nodes());
  if (!(options.delta >= 0))
    fail(ErrorCode::usage, fmt::format("sssp: delta is {}, expected 0 or more", options.delta));
  graph.device().throw_if_stopped();
  allocate_result(result_.distance, graph.num_nodes(), graph.device());
  const double delta = options.delta == 0 ? chosen_delta(*graph_) : options.delta;
  result_.reached = engine_->run(graph.row_of(options.source), delta, result_.distance.data());
  return result_;
}

template class ShortestPaths<std::int32_t>;
template class ShortestPaths<float>;

SsspResult<std::int32_t> sssp(const PackedGraph& graph, const SsspOptions& options) {
  BreadthFirstSearch search(graph);
  search.run({.source = options.source}, unreached<std::int32_t>());
  BfsResult result = search.take();
  return {std::move(result.level), result.reached};
}

template <class Distance>
SsspResult<Distance> sssp(const WeightedGraph& graph, const SsspOptions& options) {
  ShortestPaths<Distance> paths(graph);
  paths.run(options);
  return paths.take();
}

template SsspResult<std::int32_t> sssp(const WeightedGraph&, const SsspOptions&);
template SsspResult<float> sssp(const WeightedGraph&, const SsspOptions&);

}  // namespace bitgraph
