// SPDX-License-Identifier: Apache-2.0
// What a plan over the parts of a partition will hold.
#include "core/cuda/runtime.hpp"
#include "nn/inference/parts/over_parts.hpp"
#include "nn/inference/parts/packed_layout.hpp"
#include "nn/inference/parts/staying_parts.hpp"
#include "nn/inference/predict.hpp"
#include "nn/sampling/parts/seen_part.hpp"

#include <algorithm>

namespace bitgraph::nn {

PredictedMemory predict_memory_over_parts(const Model& model, const Dataset& dataset, const InferenceOptions& options,
                                          const Device& device) {
  if (!device.is_host()) {
    const std::size_t there = cuda_runtime::total_memory(device.index());
    if (const auto staying = batches_that_stay(model, dataset, options, device, there)) return staying->predicted;
    return lay_out_batches(model, dataset, options, device).predicted;
  }
  PartBatches batches = inference_batches(dataset, options, device);
  const GraphFacts facts = facts_of_batches(batches);
  const InferenceOptions of_batches = options_of_batches(options, model, device);
  SubgraphSample sample;
  std::size_t values = 0, rest = 0;
  for (std::size_t b = 0; b < batches.num_batches(); ++b) {
    batches.fixed_into(sample, b);
    if (sample.nodes.empty()) continue;
    const Dataset part = part_of(dataset, sample.nodes);
    const PlanStages stages = predict_stages(part.graph, model, part, of_batches, device, facts);
    values = std::max(values, stages.values);
    // The values of one batch are there while the next one is made.
    rest = std::max({rest, stages.kept + stages.rows, stages.weights + stages.features});
  }
  const std::size_t logits = dataset.graph.nrows() * static_cast<std::size_t>(model.num_classes()) * sizeof(float);
  PredictedMemory predicted;
  predicted.bytes = values + rest + logits;
  predicted.whole_bytes = predict_stages(dataset.graph, model, dataset, of_batches, device).peak();
  require_within_limit(options, predicted, batches.num_batches());
  return predicted;
}

}  // namespace bitgraph::nn
