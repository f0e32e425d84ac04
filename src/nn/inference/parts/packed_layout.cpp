// SPDX-License-Identifier: Apache-2.0
#include "nn/inference/parts/packed_layout.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/block_diagonal.hpp>

#include "core/memory/storage_room.hpp"
#include "nn/inference/input_features.hpp"
#include "nn/inference/parts/over_parts.hpp"
#include "nn/inference/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace bitgraph::nn {

namespace {

/// What operators read of a graph and its features, but for weights.
std::size_t operand_bytes(const PlanStages& stages) { return stages.kept - stages.weights; }

/// What a group takes, roughly: what the whole graph takes for each node and entry.
struct Shares {
  double node = 0;
  double entry = sizeof(NodeId);

  Shares(const CsrPattern& graph, std::size_t operands) {
    const double nodes = std::max<double>(1, graph.nrows());
    node = std::max(0.0, static_cast<double>(operands) - entry * static_cast<double>(graph.nvals())) / nodes;
  }
  [[nodiscard]] double bytes(const BatchGroup& group) const {
    return node * static_cast<double>(group.nodes) + entry * static_cast<double>(group.entries);
  }
};

std::vector<BatchGroup> join_batches(PartBatches& batches, const Shares& shares, std::size_t group_bytes) {
  std::vector<BatchGroup> groups;
  SubgraphSample sample;
  for (std::size_t b = 0; b < batches.num_batches(); ++b) {
    batches.fixed_into(sample, b);
    const BatchGroup one{b, b + 1, sample.nodes.size(), sample.pattern.get().nvals()};
    const bool fits =
        !groups.empty() && (one.nodes == 0 || groups.back().nodes == 0 ||
                            shares.bytes(groups.back()) + shares.bytes(one) <= static_cast<double>(group_bytes));
    if (!fits) {
      groups.push_back(one);
      continue;
    }
    groups.back().last = one.last;
    groups.back().nodes += one.nodes;
    groups.back().entries += one.entries;
  }
  if (groups.empty()) groups.emplace_back();
  return groups;
}

/// Of slots, from what operators read: the chunks of patterns, the ends of arrays, and scratch memory of those that
/// make them.
std::size_t slot_bytes_for(std::size_t operands) {
  constexpr std::size_t ends = std::size_t{32} << 10, share = 32;
  const std::size_t bytes = operands + operands / share + ends;
  return (bytes + StorageRoom::alignment - 1) / StorageRoom::alignment * StorageRoom::alignment;
}

}  // namespace

Dataset shape_of(const Dataset& dataset, std::span<const NodeId> nodes) {
  Dataset part;
  part.num_classes = dataset.num_classes;
  if (dataset.has_dense_features()) {
    part.dense_features = dataset.dense_features.share();
  } else {
    part.features = features_of(dataset.features, nodes);
  }
  return part;
}

GroupSample take_group(PartBatches& batches, const BatchGroup& group) {
  GroupSample taken;
  std::vector<CsrPattern> patterns;
  SubgraphSample sample;
  for (std::size_t b = group.first; b < group.last; ++b) {
    batches.fixed_into(sample, b);
    taken.nodes.insert(taken.nodes.end(), sample.nodes.begin(), sample.nodes.end());
    patterns.push_back(sample.pattern.get().clone());
  }
  taken.pattern = patterns.size() == 1 ? std::move(patterns.front()) : block_diagonal(patterns).pattern;
  return taken;
}

void require_within_limit(const InferenceOptions& options, const PredictedMemory& predicted, std::size_t num_batches) {
  if (options.memory == 0 || predicted.bytes <= options.memory) return;
  fail(ErrorCode::not_possible,
       fmt::format("the limit of {} bytes is too small: the plan needs {} bytes with {} batches of parts, or {} "
                   "without: take fewer parts in a batch",
                   options.memory, predicted.bytes, num_batches, predicted.whole_bytes));
}

PackedLayout lay_out_batches(const Model& model, const Dataset& dataset, const InferenceOptions& options,
                             const Device& device, std::size_t group_bytes) {
  PartBatches batches = inference_batches(dataset, options, device);
  const InferenceOptions of_batches = options_of_batches(options, model, device);
  const PlanStages whole = predict_stages(dataset.graph, model, dataset, of_batches, device);
  const Shares shares(dataset.graph, operand_bytes(whole));
  const std::size_t n = dataset.graph.nrows();
  const std::size_t logits = n * static_cast<std::size_t>(model.num_classes()) * sizeof(float);
  PackedLayout layout;
  layout.facts = facts_of_batches(batches);
  struct Room {
    std::size_t group_bytes, slots;
  };
  for (const Room room : std::array<Room, 3>{{{group_bytes, most_slots}, {0, most_slots}, {0, 1}}}) {
    layout.groups = join_batches(batches, shares, room.group_bytes);
    layout.slots = std::min(room.slots, layout.groups.size());
    layout.most_nodes = 0;
    std::size_t weights = 0, values = 0, operands = 0, packed = 0;
    for (const BatchGroup& group : layout.groups) {
      const GroupSample sample = take_group(batches, group);
      const PlanStages stages =
          predict_stages(sample.pattern, model, shape_of(dataset, sample.nodes), of_batches, device, layout.facts);
      layout.most_nodes = std::max(layout.most_nodes, group.nodes);
      weights = stages.weights;
      values = std::max(values, stages.values);
      operands = std::max(operands, operand_bytes(stages));
      packed += operand_bytes(stages);
    }
    layout.slot_bytes = slot_bytes_for(operands);
    layout.predicted = {.bytes = weights + values + layout.slots * layout.slot_bytes + 2 * logits + n * sizeof(NodeId),
                        .whole_bytes = whole.peak(),
                        .host_bytes = packed};
    if (options.memory == 0 || layout.predicted.bytes <= options.memory) break;
  }
  require_within_limit(options, layout.predicted, batches.num_batches());
  return layout;
}

}  // namespace bitgraph::nn
