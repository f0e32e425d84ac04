// SPDX-License-Identifier: Apache-2.0
// Bi-GCN (Wang et al. 2021), in the two forms of BitGNN (section 4.2). Only what the loss depends on is computed: the
// training nodes, their neighbours (the second layer's inputs) and those nodes' neighbours (the first layer's).
// docs/architecture.md has the gradients.
#include <bitgraph/ops/batch_norm.hpp>
#include <bitgraph/ops/dense.hpp>
#include <bitgraph/ops/dropout.hpp>
#include <bitgraph/ops/gradient.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "core/parallel.hpp"
#include "nn/inference/forward.hpp"
#include "nn/model/normalization.hpp"
#include "nn/training/receptive_field.hpp"
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
        statistics_(column_statistics(dataset.features.pattern, dataset.features.values.span())),
        inverse_deviation_(inverse_deviation(statistics_.variance.span())),
        graph_(dataset.graph, device),
        features_(PackedFeatures(dataset.features, dataset.features.values.span(),
                                 {statistics_.mean.span(), inverse_deviation_.span()}, device)),
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
    if (options.start != nullptr) {
      for (std::size_t l = 0; l < 2; ++l) parameters_[2 * l].start_from(options.start->layers[l].neighbor.floats());
    }
    take_features();
    const std::size_t n1 = field_.inputs.size();
    const std::size_t n2 = field_.middle.size();
    const std::size_t n3 = field_.outputs.size();
    keep1_ = BitMatrix<ZeroOne>(n1, width, device);
    kept_features_ = Floats(n1, width, device);
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
    model.input_mean = statistics_.mean.clone();
    model.input_inverse_deviation = inverse_deviation_.clone();
    model.layers.push_back(layer(0, options_.precision));
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
    layer.neighbor =
        make_linear(parameters_[p].value.clone(), Buffer<float>::copy_of(parameters_[p + 1].value.row(0)), true);
    return layer;
  }

  /// The binarized features of the nodes that the first layer needs, and their scale with dropout's.
  void take_features() {
    const PackedFeatures& packed = *features_.packed;
    const Bits all = packed.sparse ? to_bit_matrix(packed.sparse->bits) : packed.dense->bits.clone();
    bits_ = Bits(field_.inputs.size(), all.ncols(), device_);
    alpha_ = Buffer<float>(field_.inputs.size(), device_);
    for (std::size_t i = 0; i < field_.inputs.size(); ++i) {
      std::copy_n(std::as_const(all).view().row(field_.inputs[i]), all.words_per_row(), bits_.view().row(i));
      alpha_[i] = packed.alpha()[field_.inputs[i]] / (1 - *options_.dropout);
    }
  }

  void forward_training(std::size_t epoch) {
    const auto step = static_cast<std::uint32_t>(epoch);
    binarize_into(signs1_, parameters_[0].value);
    binarize_into(signs2_, parameters_[2].value);
    dropout_mask_into(keep1_, *options_.dropout, {options_.seed, feature_dropout, step});
    gemm_into(updated_, bits_, signs1_.bits,
              {.row_scale = alpha_.span(),
               .col_scale = signs1_.alpha.span(),
               .bias = parameters_[1].value.row(0),
               .keep = &keep1_});
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
    expand_into(kept_features_, bits_, {}, &keep1_);  // without its scale, which is another factor of each row
    scale_rows(updated_gradient_, alpha_.span());
    float_gemm(parameters_[0].gradient, updated_gradient_, true, kept_features_, false);
    binary_weight_backward(parameters_[0].gradient, parameters_[0].value, signs1_.alpha.span());
  }

  static constexpr float teacher_weight = 1.0F;

  const Dataset& dataset_;
  TrainOptions options_;
  Device device_;
  Floats teacher_;
  ColumnStatistics statistics_;
  Buffer<float> inverse_deviation_;
  NormalizedGraph graph_;
  InputFeatures features_;
  ReceptiveField field_;
  GraphOperands operands_;
  std::optional<Forward> forward_;
  Bits bits_;
  Buffer<float> alpha_;
  BitMatrix<ZeroOne> keep1_, keep2_;
  Binarized signs1_, signs2_, updated_signs_;
  Floats kept_features_, updated_, updated_gradient_, hidden_, dropped_hidden_, hidden_gradient_, weights2_, scores_,
      scores_gradient_, logits_, logits_gradient_;
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
