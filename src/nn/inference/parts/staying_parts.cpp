// SPDX-License-Identifier: Apache-2.0
#include "nn/inference/parts/staying_parts.hpp"

#include <bitgraph/core/error.hpp>

#include "nn/inference/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bitgraph::nn {

namespace {

/// Of the graph that the batches make.
InferenceOptions options_of_all(const InferenceOptions& options, const Model& model, const Device& device) {
  InferenceOptions all = options_of_batches(options, model, device);
  all.launching = options.launching;
  return all;
}

/// False: the batches have the nodes in the data set's order, as those of parts of consecutive nodes.
bool other_order(const GroupSample& all) { return !std::ranges::is_sorted(all.nodes); }

PredictedMemory predict_all(const GroupSample& all, const Model& model, const Dataset& dataset,
                            const InferenceOptions& options, const Device& device) {
  const InferenceOptions of_all = options_of_all(options, model, device);
  const Dataset shape = shape_of(dataset, all.nodes);
  PredictedMemory predicted;
  predicted.bytes = predict_stages(all.pattern, model, shape, of_all, device, {}, other_order(all)).peak();
  predicted.whole_bytes = predict_stages(dataset.graph, model, dataset, of_all, device).peak();
  return predicted;
}

}  // namespace

std::optional<StayingBatches> batches_that_stay(const Model& model, const Dataset& dataset,
                                                const InferenceOptions& options, const Device& device,
                                                std::size_t device_bytes) {
  if (options.batches_at == BatchesAt::host) return std::nullopt;
  PartBatches batches = inference_batches(dataset, options, device);
  StayingBatches made{.all = take_group(batches, {.first = 0, .last = batches.num_batches()}),
                      .count = batches.num_batches()};
  made.predicted = predict_all(made.all, model, dataset, options, device);
  const std::size_t limit = options.memory != 0 ? options.memory : device_bytes / 2;
  if (options.batches_at == BatchesAt::automatic && made.predicted.bytes > limit) return std::nullopt;
  if (options.memory != 0 && made.predicted.bytes > options.memory) {
    fail(ErrorCode::not_possible,
         fmt::format("the limit of {} bytes is too small: the plan needs {} bytes with all {} batches on the device: "
                     "let them come from the host",
                     options.memory, made.predicted.bytes, made.count));
  }
  return made;
}

StayingParts::StayingParts(const Model& model, const Dataset& dataset, const InferenceOptions& options,
                           const Device& device, StayingBatches batches)
    : OverParts(dataset.graph.nrows(), batches.predicted),
      device_(device),
      batch_graph_(std::move(batches.all.pattern)),
      graph_(batch_graph_, device),
      features_(metadata_of(model), dataset, form_of_features(model, options.forms),
                options_of_all(options, model, device).features, device, batches.all.nodes),
      forward_(model, options_of_all(options, model, device), graph_, features_, device,
               other_order(batches.all) ? CallerOrder(batches.all.nodes, device) : CallerOrder()) {
  num_batches_ = batches.count;
  bytes_ = {.model = model.bytes(), .graph = graph_.bytes(), .features = features_.bytes()};
}

const DenseMatrix<float>& StayingParts::run() {
  device_.throw_if_stopped();
  return forward_.run();
}

void StayingParts::set_weights(const Model& model) {
  forward_.set_weights(model.layers);
  if (model.has_levels()) forward_.renew();
}

}  // namespace bitgraph::nn
