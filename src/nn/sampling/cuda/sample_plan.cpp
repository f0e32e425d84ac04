// SPDX-License-Identifier: Apache-2.0
#include "nn/sampling/cuda/sample_plan.hpp"

#include <bitgraph/core/error.hpp>

#include "nn/inference/graph_operands.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace bitgraph::nn {

namespace {

/// The longest rows of a graph that is cut to so many neighbours a node, falling where `rows` is less than all.
std::vector<std::size_t> longest_rows(const CsrPattern& graph, std::size_t rows, std::size_t fan_out) {
  std::vector<std::size_t> lengths(graph.nrows());
  for (NodeId i = 0; i < graph.nrows(); ++i) lengths[i] = std::min(graph.row(i).size(), fan_out);
  if (rows < lengths.size()) {
    std::nth_element(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(rows), lengths.end(),
                     std::greater<>());
    lengths.resize(rows);
  }
  return lengths;
}

}  // namespace

SamplePlan::SamplePlan(const CsrPattern& graph, std::span<const std::size_t> fan_outs,
                       std::span<const Aggregation> aggregations, std::size_t targets) {
  require(!fan_outs.empty() && fan_outs.size() == aggregations.size(),
          "neighbour sampling: one fan-out is needed for each layer that aggregates");
  std::size_t rows = std::min<std::size_t>(targets, graph.nrows());
  for (std::size_t h = 0; h < fan_outs.size(); ++h) {
    HopPlan hop{.fan_out = fan_outs[h], .aggregation = aggregations[fan_outs.size() - 1 - h], .rows = rows};
    const std::vector<std::size_t> lengths = longest_rows(graph, rows, hop.fan_out);
    const std::size_t own = has_loops(hop.aggregation) ? 1 : 0;
    hop.drawn = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
    hop.inputs = std::min<std::size_t>(graph.nrows(), rows + hop.drawn);
    hop.entries = hop.drawn + own * rows;
    hop.longest_row = (lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end())) + own;
    hops.push_back(hop);
    rows = hop.inputs;
  }
}

std::size_t SamplePlan::most(std::size_t HopPlan::*member) const noexcept {
  std::size_t largest = 0;
  for (const HopPlan& hop : hops) largest = std::max(largest, hop.*member);
  return largest;
}

std::size_t SamplePlan::bytes(const CsrPattern& graph, std::size_t samples) const noexcept {
  constexpr std::size_t id = sizeof(NodeId), offset = sizeof(EdgeOffset);
  std::size_t sample = id * (inputs() + targets());
  for (const HopPlan& hop : hops) sample += 2 * id * hop.entries + offset * (2 * hop.rows + hop.inputs);
  const std::size_t whole = graph.bytes() + 4 * id * graph.nrows();
  // Radix sorts have two arrays beside keys and values.
  const std::size_t scratch = id * most(&HopPlan::drawn) + 6 * id * most(&HopPlan::entries);
  return whole + scratch + samples * sample;
}

}  // namespace bitgraph::nn
