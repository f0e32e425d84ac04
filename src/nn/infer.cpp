// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/infer.hpp>

#include "nn/forward.hpp"
#include "nn/plan_memory.hpp"
#include "nn/training_source.hpp"

#include <algorithm>

namespace bitgraph::nn {

namespace {

Buffer<NodeId> new_places(const CsrPattern& graph, Order order) {
  return order == Order::original ? Buffer<NodeId>() : reorder(graph, order);
}

}  // namespace

struct InferencePlan::State {
  State(const Model& model, const Dataset& dataset, const InferenceOptions& options, const PredictedMemory& memory,
        const Device& device)
      : predicted(memory),
        places(new_places(dataset.graph, options.order)),
        in_order(places.empty() ? Dataset() : renumbered(dataset, places.span())),
        graph(places.empty() ? dataset.graph : in_order.graph, device),
        features(model, places.empty() ? dataset : in_order, options.forms.front(), options.features, device),
        forward(model, options, graph, features, device, back(device), memory.parts) {
    bytes = {.model = model.bytes(), .graph = graph.bytes(), .features = features.bytes()};
    if (memory.parts == 1) in_order = Dataset{};  // all that is used of it is in the operands now
  }

  /// The pattern that brings rows back into the caller's order: row i takes row places[i].
  [[nodiscard]] CsrPattern back(const Device& device) const {
    if (places.empty()) return {};
    const std::size_t n = places.size();
    Buffer<EdgeOffset> row_ptr(n + 1);
    for (std::size_t i = 0; i <= n; ++i) row_ptr[i] = i;
    return CsrPattern(static_cast<NodeId>(n), static_cast<NodeId>(n), std::move(row_ptr), places.clone()).to(device);
  }

  PredictedMemory predicted;
  Buffer<NodeId> places;  ///< of the caller's nodes in the order that is used; empty: the caller's
  Dataset in_order;       ///< while the plan is made
  GraphOperands graph;
  InputFeatures features;
  Forward forward;
  InferenceBytes bytes;
};

InferencePlan::InferencePlan(const Model& model, const Dataset& dataset, const InferenceOptions& options,
                             const Device& device) {
  model.require_fit(dataset);
  InferenceOptions checked = options;
  checked.forms = checked_forms(model, options.forms);
  const PredictedMemory memory = predict_memory(model, dataset, checked, device);
  state_ = std::make_unique<State>(model, dataset, checked, memory, device);
}

InferencePlan::InferencePlan(const Model& model, const Dataset& dataset, Precision form, const Device& device,
                             FeatureStorage storage)
    : InferencePlan(model, dataset, {.forms = model.layer_forms(form), .features = storage}, device) {}

InferencePlan::~InferencePlan() = default;
InferencePlan::InferencePlan(InferencePlan&&) noexcept = default;

const DenseMatrix<float>& InferencePlan::run() { return state_->forward.run(); }

InferenceBytes InferencePlan::bytes() const noexcept { return state_->bytes; }

const PredictedMemory& InferencePlan::predicted() const noexcept { return state_->predicted; }

std::string InferencePlan::feature_format() const { return state_->features.format(); }

std::vector<std::string> InferencePlan::steps() const {
  std::vector<std::string> names;
  for (const Step& s : state_->forward.steps()) names.push_back(s.name);
  return names;
}

Buffer<std::int32_t> predict(const DenseMatrix<float>& logits) {
  Buffer<std::int32_t> classes(logits.nrows());
  for (std::size_t i = 0; i < logits.nrows(); ++i) {
    const auto row = logits.row(i);
    classes[i] = static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
  }
  return classes;
}

}  // namespace bitgraph::nn
