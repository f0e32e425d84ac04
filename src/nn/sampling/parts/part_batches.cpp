// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/part_batches.hpp>

#include <bitgraph/core/error.hpp>

#include "nn/sampling/node_set.hpp"
#include "nn/sampling/subgraph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace bitgraph::nn {

std::size_t preset_batch_parts(const Partition& partition) noexcept {
  constexpr std::size_t batches = 20;
  return std::max<std::size_t>(1, (partition.num_parts() + batches / 2) / batches);
}

struct PartBatches::State {
  State(const CsrPattern& the_graph, std::shared_ptr<const Partition> the_parts, const PartBatchOptions& the_options,
        Device on)
      : graph(the_graph),
        partition(std::move(the_parts)),
        options(the_options),
        device(std::move(on)),
        in_order(partition->num_parts()),
        taken(the_graph.nrows()) {
    std::iota(in_order.begin(), in_order.end(), NodeId{0});
  }

  [[nodiscard]] std::size_t num_batches() const noexcept {
    return in_order.size() / options.parts + (in_order.size() % options.parts == 0 ? 0 : 1);
  }

  [[nodiscard]] std::span<const NodeId> cut(std::span<const NodeId> order, std::size_t batch) const {
    if (batch >= num_batches())
      fail(ErrorCode::usage, fmt::format("part batches: batch {} of {}", batch, num_batches()));
    const auto rest = order.subspan(batch * options.parts);
    return rest.first(std::min(options.parts, rest.size()));
  }

  void fill(SubgraphSample& out, std::span<const NodeId> parts) {
    out.loss_weight.clear();
    out.entry_scale.clear();
    for (const NodeId part : parts) {
      for (const NodeId i : partition->nodes(part)) taken.add(i);
    }
    out.nodes.resize(taken.number(device));
    taken.list(out.nodes.data(), device);
    induce(out.pattern, graph, out.nodes, taken, device, [](EdgeOffset, EdgeOffset) {});
    taken.clear(device);
  }

  const CsrPattern& graph;
  std::shared_ptr<const Partition> partition;
  PartBatchOptions options;
  Device device;
  std::vector<NodeId> in_order, drawn;
  std::optional<std::uint32_t> epoch;  ///< that `drawn` is of
  NodeSet taken;                       ///< empty between batches
};

PartBatches::PartBatches(const CsrPattern& graph, const Partition& partition, const PartBatchOptions& options,
                         const Device& device) {
  require(graph.nrows() == graph.ncols(), "part batches: the graph is not square");
  require(graph.device().is_host() && device.is_host(), "part batches: the graph has to be on the host");
  require(options.parts > 0, "part batches: a batch has at least one part");
  partition.require_graph(graph, "part batches");
  state_ = std::make_unique<State>(graph, std::make_shared<const Partition>(partition), options, device);
}

PartBatches::PartBatches(std::unique_ptr<State> state) : state_(std::move(state)) {}
PartBatches::~PartBatches() = default;
PartBatches::PartBatches(PartBatches&&) noexcept = default;

PartBatches PartBatches::twin(const Device& device) const {
  return PartBatches(std::make_unique<State>(state_->graph, state_->partition, state_->options, device));
}

std::size_t PartBatches::num_batches() const noexcept { return state_->num_batches(); }

std::span<const NodeId> PartBatches::parts_of(std::uint32_t epoch, std::size_t batch) {
  State& s = *state_;
  if (s.epoch != epoch) {
    shuffle_into(s.drawn, s.in_order, s.options.seed, epoch);
    s.epoch = epoch;
  }
  // Of nearly one number: a last batch of a few parts would count as much as the others.
  const std::size_t batches = s.num_batches(), parts = s.drawn.size();
  if (batch >= batches) fail(ErrorCode::usage, fmt::format("part batches: batch {} of {}", batch, batches));
  const std::size_t first = parts * batch / batches;
  return std::span(s.drawn).subspan(first, parts * (batch + 1) / batches - first);
}

void PartBatches::sample_into(SubgraphSample& out, std::uint32_t epoch, std::size_t batch) {
  state_->fill(out, parts_of(epoch, batch));
}

void PartBatches::fixed_into(SubgraphSample& out, std::size_t batch) {
  state_->fill(out, state_->cut(state_->in_order, batch));
}

}  // namespace bitgraph::nn
