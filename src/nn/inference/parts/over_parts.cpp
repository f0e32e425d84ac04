// SPDX-License-Identifier: Apache-2.0
#include "nn/inference/parts/over_parts.hpp"

#include <bitgraph/core/error.hpp>

#include "core/cuda/runtime.hpp"
#include "nn/inference/input_features.hpp"
#include "nn/inference/parts/packed_parts.hpp"
#include "nn/inference/parts/staying_parts.hpp"
#include "nn/model/feature_rules.hpp"

#include <algorithm>
#include <utility>

namespace bitgraph::nn {

std::unique_ptr<OverParts> make_over_parts(const Model& model, const Dataset& dataset, const InferenceOptions& options,
                                           const Device& device) {
  if (device.is_host()) return make_host_parts(model, dataset, options, device);
  if (auto staying = batches_that_stay(model, dataset, options, device, cuda_runtime::total_memory(device.index())))
    return std::make_unique<StayingParts>(model, dataset, options, device, std::move(*staying));
  return std::make_unique<PackedParts>(model, dataset, options, device);
}

PartBatches inference_batches(const Dataset& dataset, const InferenceOptions& options, const Device& device) {
  require(options.order == Order::original, "a plan over the parts of a partition: the nodes have no other order");
  require(options.capacity.nodes == 0 && options.capacity.entries == 0,
          "a plan over the parts of a partition has no room for nodes and edges to come");
  const std::size_t parts = options.batch_parts == 0 ? preset_batch_parts(*options.partition) : options.batch_parts;
  return {dataset.graph, *options.partition, {.parts = parts}, device.is_host() ? device : Device()};
}

InferenceOptions options_of_batches(const InferenceOptions& options, const Model& model, const Device& device) {
  InferenceOptions all = options;
  all.partition = nullptr;
  all.memory = 0;
  all.launching = Launching::steps;  // what is recorded would be of one batch
  const bool floats = !options.forms.front().multiplies_signs() &&
                      form_of_features(model, options.forms).input.kind != NumberKind::levels;
  if (!floats || !device.is_host()) all.features = FeatureStorage::dense;
  return all;
}

Model metadata_of(const Model& model) {
  Model metadata;
  metadata.precision = model.precision;
  copy_feature_rules(metadata, model);
  return metadata;
}

GraphFacts facts_of_batches(PartBatches& batches) {
  GraphFacts all;
  SubgraphSample sample;
  for (std::size_t b = 0; b < batches.num_batches(); ++b) {
    batches.fixed_into(sample, b);
    const GraphFacts facts = GraphFacts::of(sample.pattern.get());
    all.nodes += facts.nodes;
    all.entries += facts.entries;
    all.longest_row = std::max(all.longest_row, facts.longest_row);
    all.has_empty_row = all.has_empty_row || facts.has_empty_row;
  }
  return all;
}

}  // namespace bitgraph::nn
