// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/infer.hpp>

#include <bitgraph/ops/dense.hpp>

#include "nn/forward.hpp"
#include "nn/training_source.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bitgraph::nn {

namespace {

/// The forms asked for, or the model's own. Throws usage where the model has none such.
std::vector<Precision> checked_forms(const Model& model, const std::vector<Precision>& wanted) {
  if (wanted.empty()) return model.layer_forms(model.precision);
  if (wanted.size() != model.layers.size()) {
    fail(ErrorCode::usage,
         fmt::format("{} forms are given for a model of {} layers", wanted.size(), model.layers.size()));
  }
  for (std::size_t l = 0; l < wanted.size(); ++l) {
    if ((wanted[l] == Precision::real) != (model.precision == Precision::real)) {
      fail(ErrorCode::usage, fmt::format("a model of precision {} has no layer of form {}", to_string(model.precision),
                                         to_string(wanted[l])));
    }
    const bool votes = wanted[l] == Precision::bin;
    if (votes && (l + 1 == wanted.size() || model.layers[l].aggregation == Aggregation::none))
      fail(ErrorCode::usage, fmt::format("layer {} cannot be bin: its output is the logits", l));
  }
  return wanted;
}

Buffer<NodeId> new_places(const CsrPattern& graph, Order order) {
  return order == Order::original ? Buffer<NodeId>() : reorder(graph, order);
}

/// A data set of the features' rows `old_ids`, with nothing else in it.
Dataset with_rows(const Dataset& dataset, std::span<const NodeId> old_ids) {
  Dataset out;
  if (dataset.has_dense_features()) {
    out.dense_features = DenseMatrix<float>(old_ids.size(), dataset.num_features());
    gather_rows_into(out.dense_features, dataset.dense_features, old_ids);
  } else {
    out.features = features_of(dataset.features, old_ids);
  }
  return out;
}

}  // namespace

struct InferencePlan::State {
  State(const Model& model, const Dataset& dataset, const InferenceOptions& options, const Device& device)
      : places(new_places(dataset.graph, options.order)),
        graph_in_order(places.empty() ? CsrPattern() : permuted(dataset.graph, places.span())),
        graph(places.empty() ? dataset.graph : graph_in_order, device),
        features(make_features(model, dataset, options, device)),
        forward(model, options, graph, features, device, back(device)) {
    bytes = {.model = model.bytes(), .graph = graph.bytes(), .features = features.bytes()};
  }

  /// The features of the nodes in their new order.
  [[nodiscard]] InputFeatures make_features(const Model& model, const Dataset& dataset, const InferenceOptions& options,
                                            const Device& device) const {
    if (places.empty()) return {model, dataset, options.forms.front(), options.features, device};
    const Buffer<NodeId> old_ids = inverse_permutation(places.span());
    return {model, with_rows(dataset, old_ids.span()), options.forms.front(), options.features, device};
  }

  /// The pattern that brings rows back into the caller's order: row i takes row places[i].
  [[nodiscard]] CsrPattern back(const Device& device) const {
    if (places.empty()) return {};
    const std::size_t n = places.size();
    Buffer<EdgeOffset> row_ptr(n + 1);
    for (std::size_t i = 0; i <= n; ++i) row_ptr[i] = i;
    return CsrPattern(static_cast<NodeId>(n), static_cast<NodeId>(n), std::move(row_ptr), places.clone()).to(device);
  }

  Buffer<NodeId> places;  ///< of the caller's nodes in the order that is used; empty: the caller's
  CsrPattern graph_in_order;
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

InferencePlan::InferencePlan(const Model& model, const Dataset& dataset, Precision form, const Device& device,
                             FeatureStorage storage)
    : InferencePlan(model, dataset, {.forms = model.layer_forms(form), .features = storage}, device) {}

InferencePlan::~InferencePlan() = default;
InferencePlan::InferencePlan(InferencePlan&&) noexcept = default;

const DenseMatrix<float>& InferencePlan::run() { return state_->forward.run(); }

InferenceBytes InferencePlan::bytes() const noexcept { return state_->bytes; }

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
