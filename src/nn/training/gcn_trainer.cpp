// SPDX-License-Identifier: Apache-2.0
// GCN in full precision (Kipf and Welling 2017): A~ relu(A~ X W1 + b1) W2 + b2 with A~ = D^-1/2 (A + I) D^-1/2.
#include <bitgraph/ops/dropout.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "nn/inference/sparse_product.hpp"
#include "nn/model/normalization.hpp"
#include "nn/training/recipe.hpp"
#include "nn/training/sparse_dropout.hpp"
#include "nn/training/sums_in_order.hpp"
#include "nn/training/trainer.hpp"

#include <algorithm>
#include <utility>

namespace bitgraph::nn {

namespace {

enum Tensor : std::uint32_t { first_weight = 1, second_weight = 2, feature_dropout = 3, hidden_dropout = 4 };

void add_bias_relu(DenseMatrix<float>& x, std::span<const float> bias) {
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    for (std::size_t f = 0; f < x.ncols(); ++f) x(i, f) = std::max(0.0F, x(i, f) + bias[f]);
  }
}

class GcnTrainer final : public Trainer {
 public:
  GcnTrainer(const Dataset& dataset, const TrainOptions& options, const Device& device)
      : dataset_(dataset),
        options_(options),
        device_(device),
        graph_(dataset.graph, device),
        recipe_(choose_recipe(options, measure_facts(dataset))),
        normalize_rows_(options.start != nullptr ? options.start->normalize_rows : recipe_.normalize_rows),
        values_(model_features(dataset.features, normalize_rows_)),
        dropped_(values_.size(), device),
        transposed_(dataset.features.pattern),
        transposed_values_(values_.size(), device),
        product_(n(), options.hidden, device),
        hidden_(n(), options.hidden, device),
        hidden_gradient_(n(), options.hidden, device),
        scores_(n(), classes(), device),
        logits_(n(), classes(), device),
        logits_gradient_(n(), classes(), device),
        keep_(n(), options.hidden, device) {
    for (float& value : values_) value *= recipe_.feature_scale;
    const float decay = *options.weight_decay;
    const std::size_t features = dataset.features.pattern.ncols();
    parameters_.emplace_back("layer0.weight", features, options.hidden, decay);
    parameters_.emplace_back("layer0.bias", 1, options.hidden, decay);
    parameters_.emplace_back("layer1.weight", options.hidden, classes(), 0.0F);
    parameters_.emplace_back("layer1.bias", 1, classes(), 0.0F);
    weight0().glorot(options.seed, first_weight);
    weight1().glorot(options.seed, second_weight);
    if (options.start != nullptr) continue_from(*options.start);
  }

  double step(std::size_t epoch) override {
    drop_entries(dropped_.span(), values_.span(), *options_.dropout,
                 {options_.seed, feature_dropout, static_cast<std::uint32_t>(epoch)});
    forward(dropped_.span(), epoch, true);
    const Score score = cross_entropy_backward_into(logits_gradient_, logits_, dataset_.labels, dataset_.train);
    backward();
    return score.loss;
  }

  Score evaluate(std::span<const NodeId> nodes) override {
    forward(values_.span(), 0, false);
    return score(logits_, dataset_.labels, nodes);
  }

  [[nodiscard]] Model model() const override {
    Model model;
    model.precision = Precision::real;
    model.dataset = dataset_.name;
    model.seed = options_.seed;
    model.normalize_rows = normalize_rows_;
    for (std::size_t p = 0; p < parameters_.size(); p += 2) {
      Layer layer;
      DenseMatrix<float> weight = transposed(parameters_[p].value);
      if (p == 0) {
        for (float& w : weight.values()) w *= recipe_.feature_scale;
      }
      layer.neighbor.weight = std::move(weight);
      layer.neighbor.bias = Buffer<float>::copy_of(parameters_[p + 1].value.row(0));
      model.layers.push_back(std::move(layer));
    }
    return model;
  }

 private:
  [[nodiscard]] std::size_t n() const { return dataset_.graph.nrows(); }
  [[nodiscard]] std::size_t classes() const { return static_cast<std::size_t>(dataset_.num_classes); }
  Parameter& weight0() { return parameters_[0]; }
  Parameter& bias0() { return parameters_[1]; }
  Parameter& weight1() { return parameters_[2]; }
  Parameter& bias1() { return parameters_[3]; }
  [[nodiscard]] SpmmOptions normalization() const {
    return {.row_scale = graph_.scale.span(), .col_scale = graph_.scale.span()};
  }

  /// A float model goes on from another: model() the other way round.
  void continue_from(const Model& model) {
    for (std::size_t l = 0; l < model.layers.size(); ++l) {
      const Linear& linear = model.layers[l].neighbor;
      parameters_[2 * l].value = transposed(linear.floats());
      if (l == 0) {
        for (float& w : parameters_[0].value.values()) w /= recipe_.feature_scale;
      }
      std::copy(linear.bias.begin(), linear.bias.end(), parameters_[2 * l + 1].value.row(0).begin());
    }
  }

  void forward(std::span<const float> values, std::size_t epoch, bool training) {
    sparse_product(product_, dataset_.features.pattern, values, weight0().value, device_);
    spmm_into(hidden_, graph_.pattern, product_, normalization());
    add_bias_relu(hidden_, bias0().value.row(0));
    if (training) {
      dropout_mask_into(keep_, *options_.dropout, {options_.seed, hidden_dropout, static_cast<std::uint32_t>(epoch)});
      apply_dropout(hidden_, keep_, *options_.dropout);
    }
    float_gemm(scores_, hidden_, false, weight1().value, false);
    SpmmOptions options = normalization();
    options.bias = bias1().value.row(0);
    spmm_into(logits_, graph_.pattern, scores_, options);
  }

  void backward() {
    column_sums_in_order(bias1().gradient.row(0), logits_gradient_);
    spmm_into(scores_, graph_.pattern, logits_gradient_, normalization());  // A~ is symmetric
    float_gemm(weight1().gradient, hidden_, true, scores_, false, 1, 0);
    float_gemm(hidden_gradient_, scores_, false, weight1().value, true);
    const float scale = 1 / (1 - *options_.dropout);
    // A unit that relu or dropout made zero passes nothing back.
    for (std::size_t e = 0; e < hidden_.values().size(); ++e) {
      float& g = hidden_gradient_.values()[e];
      g = hidden_.values()[e] > 0 ? g * scale : 0.0F;
    }
    column_sums_in_order(bias0().gradient.row(0), hidden_gradient_);
    spmm_into(product_, graph_.pattern, hidden_gradient_, normalization());
    for (std::size_t e = 0; e < dropped_.size(); ++e) transposed_values_[e] = dropped_[transposed_.source[e]];
    sparse_product(weight0().gradient, transposed_.pattern, transposed_values_.span(), product_, device_);
  }

  const Dataset& dataset_;
  TrainOptions options_;
  Device device_;
  NormalizedGraph graph_;
  Recipe recipe_;
  bool normalize_rows_;
  Buffer<float> values_, dropped_;
  TransposedEntries transposed_;
  Buffer<float> transposed_values_;
  DenseMatrix<float> product_, hidden_, hidden_gradient_, scores_, logits_, logits_gradient_;
  BitMatrix<ZeroOne> keep_;
};

}  // namespace

std::unique_ptr<Trainer> make_gcn_trainer(const Dataset& dataset, const TrainOptions& options, const Device& device) {
  return std::make_unique<GcnTrainer>(dataset, options, device);
}

}  // namespace bitgraph::nn
