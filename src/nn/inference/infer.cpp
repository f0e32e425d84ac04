// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/infer.hpp>

#include "core/parallel.hpp"
#include "nn/inference/plan_state.hpp"
#include "nn/inference/predict.hpp"

#include <algorithm>
#include <cmath>

namespace bitgraph::nn {

InferencePlan::InferencePlan(const Model& model, const Dataset& dataset, const InferenceOptions& options,
                             const Device& device) {
  model.require_fit(dataset);
  InferenceOptions checked = options;
  checked.forms = checked_forms(model, options.forms);
  state_ = std::make_unique<State>(model, dataset, checked, device);
}

InferencePlan::~InferencePlan() = default;
InferencePlan::InferencePlan(InferencePlan&&) noexcept = default;

const DenseMatrix<float>& InferencePlan::run() {
  state_->refresh();
  return state_->forward.run();
}

InferenceBytes InferencePlan::bytes() const noexcept { return state_->bytes; }

const PredictedMemory& InferencePlan::predicted() const noexcept { return state_->predicted; }

std::string InferencePlan::feature_format() const { return state_->features.format(); }

std::vector<std::string> InferencePlan::steps() const {
  std::vector<std::string> names;
  const Program& program = state_->forward.program();
  for (const Operator& op : program.operators) names.push_back(paper_name(program, op));
  return names;
}

std::vector<ExplainedOperator> InferencePlan::explain(std::size_t repeats) {
  state_->refresh();
  return state_->forward.explain(repeats);
}

std::string InferencePlan::executor() const { return state_->forward.executor(); }
std::string InferencePlan::program_text() const { return to_text(state_->forward.program()); }
std::string InferencePlan::program_dot() const { return to_dot(state_->forward.program()); }

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
