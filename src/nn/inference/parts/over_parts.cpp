// SPDX-License-Identifier: Apache-2.0
#include "nn/inference/parts/over_parts.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/ops/dense.hpp>

#include "nn/inference/predict.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace bitgraph::nn {

PartBatches inference_batches(const Dataset& dataset, const InferenceOptions& options, const Device& device) {
  require(options.order == Order::original, "a plan over the parts of a partition: the nodes have no other order");
  require(options.capacity.nodes == 0 && options.capacity.entries == 0,
          "a plan over the parts of a partition has no room for nodes and edges to come");
  const std::size_t parts = options.batch_parts == 0 ? preset_batch_parts(*options.partition) : options.batch_parts;
  return {dataset.graph, *options.partition, {.parts = parts}, device.is_host() ? device : Device()};
}

InferenceOptions options_of_batches(const InferenceOptions& options, const Model& model) {
  InferenceOptions all = options;
  all.partition = nullptr;
  all.memory = 0;
  all.launching = Launching::steps;  // what is recorded would be of one batch
  const bool floats = !options.forms.front().multiplies_signs() &&
                      form_of_features(model, options.forms).input.kind != NumberKind::levels;
  if (!floats) all.features = FeatureStorage::dense;
  return all;
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

InferencePlan::OverParts::OverParts(const Model& model, const Dataset& dataset, const InferenceOptions& options,
                                    const Device& device)
    : dataset_(dataset),
      options_(options_of_batches(options, model)),
      device_(device),
      form_(form_of_features(model, options.forms)),
      predicted_(predict_memory_over_parts(model, dataset, options, device)),
      batches_(inference_batches(dataset, options, device)) {
  metadata_.precision = model.precision;
  metadata_.normalize_rows = model.normalize_rows;
  metadata_.input_mean = model.input_mean.clone();
  metadata_.input_inverse_deviation = model.input_inverse_deviation.clone();
  const std::vector<NodeId> place = find_places();
  static_cast<void>(make_batch(largest_));
  forward_.emplace(model, options_, *graph_, *features_, device_, CsrPattern(), 1, facts_of_batches(batches_));
  bytes_ = {.model = model.bytes(), .graph = graph_->bytes(), .features = features_->bytes()};
  const std::size_t classes = forward_->program().value(forward_->program().result).columns;
  logits_ = DenseMatrix<float>(num_nodes(), classes, device_);
  if (device_.is_host()) return;
  by_batches_ = DenseMatrix<float>(num_nodes(), classes, device_);
  place_ = Buffer<NodeId>::copy_of(place, device_);
}

std::vector<NodeId> InferencePlan::OverParts::find_places() {
  std::vector<NodeId> place(num_nodes());
  NodeId next = 0;
  for (std::size_t b = 0; b < num_batches(); ++b) {
    batches_.fixed_into(sample_, b);
    for (const NodeId node : sample_.nodes) place[node] = next++;
    if (sample_.nodes.size() <= options_.capacity.nodes) continue;
    options_.capacity.nodes = sample_.nodes.size();
    largest_ = b;
  }
  return place;
}

bool InferencePlan::OverParts::make_batch(std::size_t batch) {
  batches_.fixed_into(sample_, batch);
  if (sample_.nodes.empty() && num_nodes() != 0) return false;
  // What was there goes first: two batches are never held at once.
  if (forward_) forward_->forget();
  features_.reset();
  if (graph_) {
    graph_->reset(sample_.pattern.get());
  } else {
    graph_.emplace(sample_.pattern.get(), device_);
  }
  features_.emplace(metadata_, dataset_, form_, options_.features, device_, sample_.nodes);
  if (forward_) forward_->remake({}, false);
  return true;
}

std::vector<ExplainedOperator> InferencePlan::OverParts::explain(std::size_t repeats) {
  static_cast<void>(make_batch(largest_));
  return forward_->explain(repeats);
}

const DenseMatrix<float>& InferencePlan::OverParts::run() {
  first_ = 0;
  for (std::size_t b = 0; b < num_batches(); ++b) {
    device_.throw_if_stopped();
    if (!make_batch(b)) continue;
    keep_logits(forward_->run());
  }
  if (!device_.is_host()) gather_rows_into(logits_, by_batches_, place_);
  return logits_;
}

void InferencePlan::OverParts::keep_logits(const DenseMatrix<float>& logits) {
  if (device_.is_host()) {
    for (std::size_t i = 0; i < sample_.nodes.size(); ++i)
      std::ranges::copy(logits.row(i), logits_.row(sample_.nodes[i]).begin());
    return;
  }
  Device::copy(by_batches_.view().row(first_), device_, std::as_const(logits).view().data, device_, logits.bytes());
  first_ += logits.nrows();
}

}  // namespace bitgraph::nn
