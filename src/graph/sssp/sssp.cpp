// SPDX-License-Identifier: Apache-2.0
#include "graph/sssp/sssp.hpp"

#include <bitgraph/graph/sssp.hpp>
#include <bitgraph/ops/semiring.hpp>

#include "core/parallel.hpp"
#include "graph/source.hpp"
#ifdef BITGRAPH_WITH_CUDA
#include "graph/sssp/cuda.cuh"
#endif

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

}  // namespace

template <class Distance>
SsspSearch<Distance>::SsspSearch(const WeightedGraph& graph) : graph_(&graph) {
  const std::size_t n = graph.graph().num_nodes();
  const Device& device = graph.graph().device();
  check_weights(graph.has_integers(), std::is_same_v<Distance, std::int32_t>);
#ifdef BITGRAPH_WITH_CUDA
  if (backend_for(device) == BackendKind::cuda) {
    on_cuda_ = std::make_shared<CudaSssp<Distance>>(graph);
    result_.distance = Buffer<Distance>(n, device);
    return;
  }
#endif
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
  const auto threads = static_cast<std::size_t>(workers_of(device));
  result_.distance = Buffer<Distance>(n, device);
  if (!graph.graph().new_id().empty()) row_distance_ = Buffer<Distance>(n, device);
  settled_ = Buffer<Distance>(n, device);
  chunks_ = Buffer<NodeId>((4 * n / chunk_capacity + 64 * threads + 1024) * chunk_size, device);
  buckets_ = Buffer<NodeId>(threads * most_slots, device);
}

template <class Distance>
const SsspResult<Distance>& SsspSearch<Distance>::run(const SsspOptions& options) {
  const PackedGraph& graph = graph_->graph();
  const NodeId n = graph.num_nodes();
  check_source(options.source, n);
  if (!(options.delta >= 0))
    fail(ErrorCode::usage, fmt::format("sssp: delta is {}, expected 0 or more", options.delta));
  if (n == 0) return result_;
  graph.device().throw_if_stopped();
#ifdef BITGRAPH_WITH_CUDA
  if (on_cuda_) {
    const double width = options.delta == 0 ? chosen_delta(*graph_) : options.delta;
    result_.reached = on_cuda_->run(graph.row_of(options.source), width, result_.distance.data());
    return result_;
  }
#endif
  // The ring has slots for the largest weight, and as many more as rounding and the current bucket need.
  const double largest = graph_->largest();
  double delta = std::max(options.delta == 0 ? chosen_delta(*graph_) : options.delta, largest / (most_slots - 4));
  if constexpr (!std::is_same_v<Distance, float>)
    delta = static_cast<double>(std::bit_floor(static_cast<std::uint64_t>(std::clamp(delta, 1.0, 0x1.0p30))));
  const double per_delta = delta > 0 ? 1 / delta : 1;
  const auto slots = std::bit_ceil(static_cast<std::size_t>(std::min(largest * per_delta, most_slots - 4.0)) + 4);
  const Device& device = graph.device();
  Distance* distance = row_distance_.empty() ? result_.distance.data() : row_distance_.data();
  with_view(graph.out(), [&]<class View>(const View& out) {
    const SsspArgs<View, Weight, Distance> args{out,
                                                graph_->row_start(),
                                                weights_,
                                                graph.row_of(options.source),
                                                per_delta,
                                                slots,
                                                distance,
                                                settled_.data(),
                                                chunks_.data(),
                                                chunks_.size() / chunk_size,
                                                buckets_.data(),
                                                workers_of(device)};
    with_host_backend(device, "sssp", [&](const auto& backend) { sssp(backend, args); });
  });
  const NodeId* row = graph.new_id().data();
  std::atomic<std::size_t> reached{0};
  parallel_ranges(device, n, grain, [&](Range range) {
    std::size_t count = 0;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if (!row_distance_.empty()) result_.distance[i] = row_distance_[row[i]];
      count += result_.distance[i] != unreached<Distance>() ? 1U : 0U;
    }
    reached.fetch_add(count, std::memory_order_relaxed);
  });
  result_.reached = static_cast<NodeId>(reached.load());
  return result_;
}

template class SsspSearch<std::int32_t>;
template class SsspSearch<float>;

SsspResult<std::int32_t> sssp(const PackedGraph& graph, const SsspOptions& options) {
  BfsSearch search(graph);
  search.run({.source = options.source}, unreached<std::int32_t>());
  BfsResult result = std::move(search).take();
  return {std::move(result.level), result.reached};
}

template <class Distance>
SsspResult<Distance> sssp(const WeightedGraph& graph, const SsspOptions& options) {
  SsspSearch<Distance> search(graph);
  search.run(options);
  return std::move(search).take();
}

template SsspResult<std::int32_t> sssp(const WeightedGraph&, const SsspOptions&);
template SsspResult<float> sssp(const WeightedGraph&, const SsspOptions&);

}  // namespace bitgraph
