// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/infer.hpp>

#include <bitgraph/formats/reorder.hpp>

#include "nn/forward.hpp"
#include "nn/plan_memory.hpp"

#include <algorithm>

namespace bitgraph::nn {

namespace {

/// The nodes in the order that a plan uses. All are empty where that is the caller's.
struct NodeOrder {
  Buffer<NodeId> new_id;  ///< of the caller's nodes
  Buffer<NodeId> old_id;
  CsrPattern graph;

  NodeOrder(const CsrPattern& a, Order order) {
    if (order == Order::original) return;
    new_id = reorder(a, order);
    old_id = inverse_permutation(new_id.span());
    graph = permuted(a, new_id.span());
  }
  [[nodiscard]] const CsrPattern& graph_or(const CsrPattern& a) const { return new_id.empty() ? a : graph; }
};

}  // namespace

struct InferencePlan::State {
  State(const Model& model, const Dataset& dataset, const InferenceOptions& options, const Device& device)
      : order(dataset.graph, options.order),
        predicted(predict_memory_over(order.graph_or(dataset.graph), model, dataset, options, device)),
        graph(order.graph_or(dataset.graph), device),
        features(model, dataset, options.forms.front(), options.features, device, order.old_id.span()),
        forward(model, options, graph, features, device, back(device), predicted.parts) {
    bytes = {.model = model.bytes(), .graph = graph.bytes(), .features = features.bytes()};
    if (predicted.parts == 1) order.graph = {};  // all that is used of it is in the operands now
  }

  /// The pattern that brings rows back into the caller's order: row i takes row new_id[i].
  [[nodiscard]] CsrPattern back(const Device& device) const {
    if (order.new_id.empty()) return {};
    const std::size_t n = order.new_id.size();
    Buffer<EdgeOffset> row_ptr(n + 1);
    for (std::size_t i = 0; i <= n; ++i) row_ptr[i] = i;
    return CsrPattern(static_cast<NodeId>(n), static_cast<NodeId>(n), std::move(row_ptr), order.new_id.clone(), trusted)
        .to(device);
  }

  NodeOrder order;
  PredictedMemory predicted;
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
  state_ = std::make_unique<State>(model, dataset, checked, device);
}

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
