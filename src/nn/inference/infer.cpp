// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/infer.hpp>

#include "core/threads/parallel.hpp"
#include "nn/inference/parts/over_parts.hpp"
#include "nn/inference/plan_state.hpp"
#include "nn/inference/predict.hpp"
#include "nn/updates/planned_model.hpp"

#include <algorithm>
#include <cmath>

namespace bitgraph::nn {

InferencePlan::InferencePlan(const Model& model, const Dataset& dataset, const InferenceOptions& options,
                             const Device& device) {
  model.require_fit(dataset);
  InferenceOptions checked = options;
  checked.forms = checked_forms(model, options.forms);
  model_ = std::make_unique<PlannedModel>(model, form_of_features(model, checked.forms), dataset.has_dense_features());
  if (options.partition != nullptr) {
    require(!model.readout, "a plan over the parts of a partition: the model classifies graphs, which are not cut");
    parts_ = make_over_parts(model, dataset, checked, device);
  } else {
    state_ = std::make_unique<State>(model, dataset, checked, device);
  }
}

InferencePlan::~InferencePlan() = default;
InferencePlan::InferencePlan(InferencePlan&&) noexcept = default;

InferencePlan::State& InferencePlan::one_graph() {
  if (!parts_ && state_->graph.num_graphs() != 0)
    fail(ErrorCode::not_possible,
         "a plan over many graphs takes other features, no other nodes and edges: make a new one");
  return whole();
}

InferencePlan::State& InferencePlan::whole() {
  if (parts_)
    fail(ErrorCode::not_possible,
         "a plan over the parts of a partition takes no updates but of weights: make a new one");
  return *state_;
}

const DenseMatrix<float>& InferencePlan::run() {
  if (parts_) return parts_->run();
  state_->refresh();
  return state_->forward.run();
}

NodeId InferencePlan::num_nodes() const noexcept { return parts_ ? parts_->num_nodes() : state_->num_nodes; }
std::size_t InferencePlan::num_batches() const noexcept { return parts_ ? parts_->num_batches() : 1; }
InferenceBytes InferencePlan::bytes() const noexcept { return parts_ ? parts_->bytes() : state_->bytes; }

const PredictedMemory& InferencePlan::predicted() const noexcept {
  return parts_ ? parts_->predicted() : state_->predicted;
}

std::string InferencePlan::feature_format() const {
  return parts_ ? parts_->feature_format() : state_->features.format();
}

std::vector<std::string> InferencePlan::steps() const {
  std::vector<std::string> names;
  for (const Operator& op : program().operators) names.push_back(paper_name(program(), op));
  return names;
}

std::vector<ExplainedOperator> InferencePlan::explain(std::size_t repeats) {
  if (parts_) return parts_->explain(repeats);
  state_->refresh();
  return state_->forward.explain(repeats);
}

const Program& InferencePlan::program() const { return parts_ ? parts_->program() : state_->forward.program(); }

std::string InferencePlan::executor() const { return parts_ ? parts_->executor() : state_->forward.executor(); }
std::string InferencePlan::program_text() const { return to_text(program()); }
std::string InferencePlan::program_dot() const { return to_dot(program()); }

Buffer<std::int32_t> predict(const DenseMatrix<float>& logits) {
  Buffer<std::int32_t> classes(logits.nrows());
  for (std::size_t i = 0; i < logits.nrows(); ++i) {
    const auto row = logits.row(i);
    classes[i] = static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
  }
  return classes;
}

DenseMatrix<float> softmax(const DenseMatrix<float>& logits, const Device& device) {
  DenseMatrix<float> probabilities(logits.nrows(), logits.ncols(), device);
  parallel_for(device, logits.nrows(), 256, [&](std::size_t i) {
    const auto from = logits.row(i);
    const auto to = probabilities.row(i);
    if (from.empty()) return;
    const float largest = *std::max_element(from.begin(), from.end());
    double sum = 0;
    for (std::size_t c = 0; c < from.size(); ++c) sum += to[c] = std::exp(from[c] - largest);
    for (float& value : to) value = static_cast<float>(value / sum);
  });
  return probabilities;
}

}  // namespace bitgraph::nn
