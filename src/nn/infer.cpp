// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/infer.hpp>

#include "nn/forward.hpp"

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

}  // namespace

struct InferencePlan::State {
  State(const Model& model, const Dataset& dataset, const std::vector<Precision>& forms, FeatureStorage storage,
        const Device& device)
      : graph(dataset.graph, device),
        features(model, dataset, forms.front(), storage, device),
        forward(model, forms, graph, features, device) {
    bytes = {.model = model.bytes(), .graph = graph.bytes(), .features = features.bytes()};
  }

  GraphOperands graph;
  InputFeatures features;
  Forward forward;
  InferenceBytes bytes;
};

InferencePlan::InferencePlan(const Model& model, const Dataset& dataset, const InferenceOptions& options,
                             const Device& device) {
  model.require_fit(dataset);
  state_ = std::make_unique<State>(model, dataset, checked_forms(model, options.forms), options.features, device);
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
