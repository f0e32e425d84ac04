// SPDX-License-Identifier: Apache-2.0
// Bi-GCN (Wang et al. 2021), in the two forms of BitGNN (section 4.2). Only what the loss depends on is computed: the
// training nodes, their neighbours (the second layer's inputs) and those nodes' neighbours (the first layer's).
// docs/architecture.md has the gradients.
//
// The signs of sparse features are one base row s and few flips: row i of the first layer's input is
// a_i (s + d_i) - c, d_i the flips (-2 s_j where feature j is on the other side, else 0), a_i the row's scale and c the
// mean row. Products with it cost O(flips), as those with sparse floats do. Dropout forgets flips.
#include <bitgraph/ops/dense.hpp>
#include <bitgraph/ops/dropout.hpp>
#include <bitgraph/ops/gradient.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "core/parallel.hpp"
#include "nn/inference/forward.hpp"
#include "nn/inference/sparse_product.hpp"
#include "nn/model/normalization.hpp"
#include "nn/training/receptive_field.hpp"
#include "nn/training/recipe.hpp"
#include "nn/training/sparse_dropout.hpp"
#include "nn/training/sums_in_order.hpp"
#include "nn/training/trainer.hpp"

#include <cmath>
#include <numeric>

namespace bitgraph::nn {

namespace {

enum Tensor : std::uint32_t { first_weight = 1, second_weight = 2, feature_dropout = 3, hidden_dropout = 4 };

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

class BiGcnTrainer final : public Trainer {
 public:
  BiGcnTrainer(const Dataset& dataset, const TrainOptions& options, const Device& device, Floats teacher)
      : dataset_(dataset),
        options_(options),
        device_(device),
        teacher_(std::move(teacher)),
        recipe_(choose_recipe(options, measure_facts(dataset))),
        map_(sign_map(dataset, recipe_)),
        graph_(dataset.graph, device),
        features_(PackedFeatures(dataset.features, dataset.features.values.span(),
                                 {map_.shift.span(), map_.scale.span()}, device)),
        field_(graph_, teacher_.nrows() == 0 ? dataset.train : all_nodes(dataset)),
        operands_(dataset.graph, device) {
    const std::size_t width = dataset.features.pattern.ncols();
    const std::size_t h = options.hidden;
    const float decay = *options.weight_decay;
    parameters_.emplace_back("layer0.weight", h, width, decay);
    parameters_.emplace_back("layer0.bias", 1, h, decay);
    parameters_.emplace_back("layer1.weight", classes(), h, decay);
    parameters_.emplace_back("layer1.bias", 1, classes(), decay);
    parameters_[0].glorot(options.seed, first_weight);
    parameters_[2].glorot(options.seed, second_weight);
    constexpr std::size_t least_width = 16;
    if (recipe_.even_scales && h >= least_width) parameters_[1].value(0, 0) = static_cast<float>(h);
    const Model* const start = options.start != nullptr  ? options.start
                               : recipe_.teacher_weights ? fitting_teacher()
                                                         : nullptr;
    if (start != nullptr) {
      for (std::size_t l = 0; l < 2; ++l) parameters_[2 * l].start_from(start->layers[l].neighbor.floats());
    }
    options_.teacher = nullptr;  // it need not stay
    options_.start = nullptr;
    if (recipe_.average)
      for (Parameter& parameter : parameters_) parameter.keep_average();
    take_features();
    const std::size_t n1 = field_.inputs.size();
    const std::size_t n2 = field_.middle.size();
    const std::size_t n3 = field_.outputs.size();
    weights1_ = Floats(width, h, device);
    weights1_gradient_ = Floats(width, h, device);
    updated_ = Floats(n1, h, device);
    updated_gradient_ = Floats(n1, h, device);
    hidden_ = Floats(n2, h, device);
    dropped_hidden_ = Floats(n2, h, device);
    hidden_gradient_ = Floats(n2, h, device);
    keep2_ = BitMatrix<ZeroOne>(n2, h, device);
    scores_ = Floats(n2, classes(), device);
    scores_gradient_ = Floats(n2, classes(), device);
    logits_ = Floats(n3, classes(), device);
    logits_gradient_ = Floats(n3, classes(), device);
    if (options.precision.votes()) updated_signs_ = {Bits(n1, h, device), Buffer<float>(n1, device)};
    signs1_ = {Bits(h, width, device), Buffer<float>(h, device)};
    signs2_ = {Bits(classes(), h, device), Buffer<float>(classes(), device)};
    weights2_ = Floats(classes(), h, device);
    for (std::size_t i = 0; i < n3; ++i) {
      labels_.push_back(dataset.labels[field_.outputs[i]]);
    }
    std::vector<NodeId> position(dataset.graph.nrows());
    for (NodeId i = 0; i < n3; ++i) position[field_.outputs[i]] = i;
    for (const NodeId node : dataset.train) train_rows_.push_back(position[node]);
  }

  double step(std::size_t epoch) override {
    // The bin form starts from weights that the full form has brought near: votes from the first epoch on now and then
    // lose a class for good.
    votes_ = options_.precision.votes() && 2 * epoch > *options_.epochs;
    forward_training(epoch);
    const double loss = loss_gradient();
    backward();
    return loss;
  }

  Score evaluate(std::span<const NodeId> nodes) override {
    const Model present = model();
    if (forward_) {
      forward_->set_weights(present);
    } else {
      forward_.emplace(present, InferenceOptions{.forms = present.layer_forms(options_.precision)}, operands_,
                       features_, device_);
    }
    return score(forward_->run(), dataset_.labels, nodes);
  }

  [[nodiscard]] Model model() const override {
    Model model;
    model.precision = options_.precision;
    model.dataset = dataset_.name;
    model.seed = options_.seed;
    model.input_mean = map_.shift.clone();
    model.input_inverse_deviation = map_.scale.clone();
    model.layers.push_back(layer(0, options_.precision));
    take_center_off(model.layers.back().neighbor);
    model.layers.push_back(layer(2, Precision::full));
    return model;
  }

 private:
  [[nodiscard]] std::size_t classes() const { return static_cast<std::size_t>(dataset_.num_classes); }

  static std::vector<NodeId> all_nodes(const Dataset& dataset) {
    std::vector<NodeId> nodes(dataset.graph.nrows());
    std::iota(nodes.begin(), nodes.end(), NodeId{0});
    return nodes;
  }

  [[nodiscard]] Layer layer(std::size_t p, Precision precision) const {
    Layer layer{.precision = precision};
    layer.neighbor = make_linear(parameters_[p].outcome().clone(),
                                 Buffer<float>::copy_of(parameters_[p + 1].outcome().row(0)), true);
    return layer;
  }

  /// Training takes the mean row off the first layer's input: the model has it in its bias.
  void take_center_off(Linear& linear) const {
    for (std::size_t f = 0; f < linear.outputs(); ++f) {
      double sum = 0;
      for (std::size_t j = 0; j < linear.inputs(); ++j) sum += linear.signs().bits.value(f, j) * center_[j];
      linear.bias[f] -= linear.signs().alpha[f] * static_cast<float>(sum);
    }
  }

  /// The teacher, where it is a GCN of these widths.
  [[nodiscard]] const Model* fitting_teacher() const {
    const Model* const teacher = options_.teacher;
    const bool fits = teacher != nullptr && teacher->architecture == Architecture::gcn && teacher->layers.size() == 2 &&
                      teacher->hidden() == options_.hidden;
    return fits ? teacher : nullptr;
  }

  /// The binarized features of the nodes that the first layer needs, and the mean row of all nodes.
  void take_features() {
    const std::size_t width = dataset_.features.pattern.ncols();
    const SparseBinarized all =
        binarize(dataset_.features.pattern, dataset_.features.values.span(), {map_.shift.span(), map_.scale.span()});
    base_ = Buffer<float>(width);
    for (std::size_t j = 0; j < width; ++j) base_[j] = static_cast<float>(all.bits.base.value(0, j));
    const CsrPattern& flips = all.bits.flips;
    std::vector<double> sums(width, 0);
    double scales = 0;
    for (NodeId i = 0; i < flips.nrows(); ++i) {
      scales += all.alpha[i];
      for (const NodeId j : flips.row(i)) sums[j] -= 2 * static_cast<double>(base_[j]) * all.alpha[i];
    }
    center_ = Buffer<float>(width, 0.0F);
    const double mean = 1 / static_cast<double>(flips.nrows());
    for (std::size_t j = 0; j < width && recipe_.center; ++j)
      center_[j] = static_cast<float>((base_[j] * scales + sums[j]) * mean);
    Buffer<EdgeOffset> row_ptr(field_.inputs.size() + 1, EdgeOffset{0});
    alpha_ = Buffer<float>(field_.inputs.size(), device_);
    for (std::size_t i = 0; i < field_.inputs.size(); ++i) {
      row_ptr[i + 1] = row_ptr[i] + flips.row(field_.inputs[i]).size();
      alpha_[i] = all.alpha[field_.inputs[i]];
    }
    Buffer<NodeId> col_ind(row_ptr[field_.inputs.size()]);
    for (std::size_t i = 0; i < field_.inputs.size(); ++i)
      std::copy(flips.row(field_.inputs[i]).begin(), flips.row(field_.inputs[i]).end(), col_ind.data() + row_ptr[i]);
    flips_ = CsrPattern(static_cast<NodeId>(field_.inputs.size()), static_cast<NodeId>(width), std::move(row_ptr),
                        std::move(col_ind), trusted);
    transposed_.emplace(flips_);
    flip_values_ = Buffer<float>(flips_.nvals());
    for (std::size_t e = 0; e < flip_values_.size(); ++e) flip_values_[e] = -2 * base_[flips_.col_ind()[e]];
    kept_ = Buffer<float>(flips_.nvals());
    kept_transposed_ = Buffer<float>(flips_.nvals());
  }

  /// updated = X W^T + b, X the first layer's input and W the binarized weights.
  void update_first() {
    const std::size_t h = options_.hidden;
    std::vector<double> of_base(h, 0), of_center(h, 0);
    for (std::size_t j = 0; j < weights1_.nrows(); ++j) {
      for (std::size_t f = 0; f < h; ++f) {
        const float w = parameters_[0].value(f, j) >= 0 ? signs1_.alpha[f] : -signs1_.alpha[f];
        weights1_(j, f) = w;
        of_base[f] += static_cast<double>(base_[j]) * w;
        of_center[f] += static_cast<double>(center_[j]) * w;
      }
    }
    sparse_product(updated_, flips_, kept_.span(), weights1_, device_);
    parallel_for(device_, updated_.nrows(), 128, [&](std::size_t i) {
      for (std::size_t f = 0; f < h; ++f) {
        updated_(i, f) = alpha_[i] * (updated_(i, f) + static_cast<float>(of_base[f])) -
                         static_cast<float>(of_center[f]) + parameters_[1].value(0, f);
      }
    });
  }

  void forward_training(std::size_t epoch) {
    const auto step = static_cast<std::uint32_t>(epoch);
    binarize_into(signs1_, parameters_[0].value);
    binarize_into(signs2_, parameters_[2].value);
    drop_entries(kept_.span(), flip_values_.span(), *options_.dropout, {options_.seed, feature_dropout, step});
    update_first();
    if (votes_) {
      binarize_into(updated_signs_, updated_);
      spmm_into(hidden_, field_.first, updated_signs_.bits, {.row_scale = field_.first_mean.span()});
    } else {
      spmm_into(hidden_, field_.first, updated_,
                {.row_scale = field_.middle_scale.span(), .col_scale = field_.input_scale.span()});
    }
    dropout_mask_into(keep2_, *options_.dropout, {options_.seed, hidden_dropout, step});
    const float scale = 1 / (1 - *options_.dropout);
    parallel_for(device_, hidden_.nrows(), 128, [&](std::size_t i) {
      float alpha = 0;
      for (std::size_t f = 0; f < hidden_.ncols(); ++f) alpha += std::fabs(hidden_(i, f));
      alpha = votes_ ? scale : scale * alpha / static_cast<float>(hidden_.ncols());
      for (std::size_t f = 0; f < hidden_.ncols(); ++f) {
        dropped_hidden_(i, f) = !keep2_.bit(i, f) ? 0.0F : hidden_(i, f) >= 0 ? alpha : -alpha;
      }
    });
    expand_into(weights2_, signs2_.bits, signs2_.alpha.span(), nullptr);
    float_gemm(scores_, dropped_hidden_, false, weights2_, true, 1, 0);
    for (std::size_t i = 0; i < scores_.nrows(); ++i) {
      for (std::size_t c = 0; c < classes(); ++c) scores_(i, c) += parameters_[3].value(0, c);
    }
    spmm_into(logits_, field_.second, scores_,
              {.row_scale = field_.output_scale.span(), .col_scale = field_.middle_scale.span()});
  }

  /// Cross entropy on the training nodes; with a teacher, plus the divergence from its predictions on all nodes.
  double loss_gradient() {
    const Score score = cross_entropy_backward_into(logits_gradient_, logits_, labels_, train_rows_);
    if (teacher_.nrows() == 0) return score.loss;
    log_softmax_into(logits_, logits_);
    add_divergence_gradient(logits_gradient_, logits_, teacher_, teacher_weight / static_cast<float>(logits_.nrows()));
    return score.loss;
  }

  void backward() {
    spmm_into(scores_gradient_, field_.second_transposed, logits_gradient_,
              {.row_scale = field_.middle_scale.span(), .col_scale = field_.output_scale.span()});
    column_sums_in_order(parameters_[3].gradient.row(0), scores_gradient_);
    float_gemm(parameters_[2].gradient, scores_gradient_, true, dropped_hidden_, false);
    binary_weight_backward(parameters_[2].gradient, parameters_[2].value, signs2_.alpha.span());
    expand_into(weights2_, signs2_.bits, {}, nullptr);
    float_gemm(hidden_gradient_, scores_gradient_, false, weights2_, false);
    apply_dropout(hidden_gradient_, keep2_, *options_.dropout);
    sign_backward(hidden_gradient_, hidden_, 1);
    if (votes_) {
      spmm_into(updated_gradient_, field_.first_transposed, hidden_gradient_, {.col_scale = field_.first_mean.span()});
      sign_backward(updated_gradient_, updated_, 1);
    } else {
      spmm_into(updated_gradient_, field_.first_transposed, hidden_gradient_,
                {.row_scale = field_.input_scale.span(), .col_scale = field_.middle_scale.span()});
    }
    column_sums_in_order(parameters_[1].gradient.row(0), updated_gradient_);
    scale_rows(updated_gradient_, alpha_.span());
    update_first_backward();
    binary_weight_backward(parameters_[0].gradient, parameters_[0].value, signs1_.alpha.span());
  }

  /// The gradient of W of update_first(): of the updated rows times X, the former scaled with alpha.
  void update_first_backward() {
    const std::size_t h = options_.hidden;
    Buffer<float> scaled_sums(h);
    column_sums_in_order(scaled_sums.span(), updated_gradient_);
    for (std::size_t e = 0; e < kept_.size(); ++e) kept_transposed_[e] = kept_[transposed_->source[e]];
    sparse_product(weights1_gradient_, transposed_->pattern, kept_transposed_.span(), updated_gradient_, device_);
    const Floats& bias_gradient = parameters_[1].gradient;
    for (std::size_t j = 0; j < weights1_gradient_.nrows(); ++j) {
      for (std::size_t f = 0; f < h; ++f) {
        parameters_[0].gradient(f, j) =
            weights1_gradient_(j, f) + base_[j] * scaled_sums[f] - center_[j] * bias_gradient(0, f);
      }
    }
  }

  static constexpr float teacher_weight = 1.0F;

  const Dataset& dataset_;
  TrainOptions options_;
  Device device_;
  Floats teacher_;
  Recipe recipe_;
  FeatureMap map_;
  NormalizedGraph graph_;
  InputFeatures features_;
  ReceptiveField field_;
  GraphOperands operands_;
  std::optional<Forward> forward_;
  CsrPattern flips_;  ///< of the first layer's input
  std::optional<TransposedEntries> transposed_;
  Buffer<float> base_, center_;       ///< one a feature
  Buffer<float> alpha_;               ///< one a row
  Buffer<float> flip_values_, kept_;  ///< without and with dropout
  Buffer<float> kept_transposed_;
  BitMatrix<ZeroOne> keep2_;
  Binarized signs1_, signs2_, updated_signs_;
  Floats weights1_, weights1_gradient_;  ///< features x hidden
  Floats updated_, updated_gradient_, hidden_, dropped_hidden_, hidden_gradient_, weights2_, scores_, scores_gradient_,
      logits_, logits_gradient_;
  std::vector<std::int32_t> labels_;
  std::vector<NodeId> train_rows_;
  bool votes_ = false;  ///< this epoch's first aggregation is a vote
};

}  // namespace

std::unique_ptr<Trainer> make_bi_gcn_trainer(const Dataset& dataset, const TrainOptions& options, const Device& device,
                                             Floats teacher) {
  return std::make_unique<BiGcnTrainer>(dataset, options, device, std::move(teacher));
}

}  // namespace bitgraph::nn
