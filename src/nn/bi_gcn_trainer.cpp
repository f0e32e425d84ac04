// SPDX-License-Identifier: Apache-2.0
// Bi-GCN (Wang et al. 2021), in the two forms of BitGNN (section 4.2). Only what the loss depends on is computed: the
// training nodes, their neighbours (the second layer's inputs) and those nodes' neighbours (the first layer's).
//
// Gradients, with g arriving: through sign(x), g where |x| <= 1; to a linear layer's input, g sign(W); to W, with G =
// g^T y, m G where |W| <= 1, plus sign(W) times the row mean of sign(W) G. The scales alpha and m are not multiplied in
// elsewhere.
#include <bitgraph/ops/batch_norm.hpp>
#include <bitgraph/ops/dropout.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "core/parallel.hpp"
#include "nn/forward.hpp"
#include "nn/normalization.hpp"
#include "nn/receptive_field.hpp"
#include "nn/trainer.hpp"

#include <array>
#include <cmath>
#include <numeric>

namespace bitgraph::nn {

namespace {

enum Tensor : std::uint32_t { first_weight = 1, second_weight = 2, feature_dropout = 3, hidden_dropout = 4 };

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

float sign(float x) { return x >= 0 ? 1.0F : -1.0F; }

/// The weight rule: from G = g^T y to the gradient of the latent weights.
void weight_gradient(Floats& gradient, const Floats& weight, std::span<const float> m) {
  for (std::size_t f = 0; f < weight.nrows(); ++f) {
    double sum = 0;
    for (std::size_t j = 0; j < weight.ncols(); ++j) sum += sign(weight(f, j)) * gradient(f, j);
    const auto mean = static_cast<float>(sum / static_cast<double>(weight.ncols()));
    for (std::size_t j = 0; j < weight.ncols(); ++j) {
      const float through = std::fabs(weight(f, j)) <= 1 ? m[f] * gradient(f, j) : 0.0F;
      gradient(f, j) = through + sign(weight(f, j)) * mean;
    }
  }
}

void column_sums(std::span<float> out, const Floats& x) {
  std::fill(out.begin(), out.end(), 0.0F);
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    for (std::size_t f = 0; f < x.ncols(); ++f) out[f] += x(i, f);
  }
}

/// Eight bits as eight floats.
std::array<std::array<float, 8>, 256> make_byte_table() {
  std::array<std::array<float, 8>, 256> table{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    for (std::size_t bit = 0; bit < 8; ++bit) table[byte][bit] = static_cast<float>((byte >> bit) & 1U);
  }
  return table;
}

class BiGcnTrainer final : public Trainer {
 public:
  BiGcnTrainer(const Dataset& dataset, const TrainOptions& options, const Device& device, Floats teacher)
      : dataset_(dataset),
        options_(options),
        device_(device),
        teacher_(std::move(teacher)),
        statistics_(column_statistics(dataset.features.pattern, dataset.features.values.span(), device)),
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
    votes_now_ = options_.precision == Precision::bin && 2 * epoch > *options_.epochs;
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
  [[nodiscard]] bool votes() const { return votes_now_; }

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
    binarize_into(signs1_, parameters_[0].value, {}, device_);
    binarize_into(signs2_, parameters_[2].value, {}, device_);
    dropout_mask_into(keep1_, *options_.dropout, {options_.seed, feature_dropout, step}, device_);
    gemm_into(updated_, bits_, signs1_.bits,
              {.row_scale = alpha_.span(),
               .col_scale = signs1_.alpha.span(),
               .bias = parameters_[1].value.row(0),
               .keep = &keep1_},
              device_);
    if (votes()) {
      sign_into(dropped_signs(), updated_);
      spmm_into(hidden_, field_.first, signs_, {.row_scale = field_.first_mean.span()}, device_);
    } else {
      spmm_into(hidden_, field_.first, updated_,
                {.row_scale = field_.middle_scale.span(), .col_scale = field_.input_scale.span()}, device_);
    }
    dropout_mask_into(keep2_, *options_.dropout, {options_.seed, hidden_dropout, step}, device_);
    const float scale = 1 / (1 - *options_.dropout);
    parallel_for(device_, hidden_.nrows(), 128, [&](std::size_t i) {
      float alpha = 0;
      for (std::size_t f = 0; f < hidden_.ncols(); ++f) alpha += std::fabs(hidden_(i, f));
      alpha = votes() ? scale : scale * alpha / static_cast<float>(hidden_.ncols());
      for (std::size_t f = 0; f < hidden_.ncols(); ++f) {
        dropped_hidden_(i, f) = keep2_.bit(i, f) ? alpha * sign(hidden_(i, f)) : 0.0F;
      }
    });
    for (std::size_t c = 0; c < classes(); ++c) {
      for (std::size_t f = 0; f < hidden_.ncols(); ++f)
        weights2_(c, f) = signs2_.alpha[c] * sign(parameters_[2].value(c, f));
    }
    float_gemm(scores_.view(), std::as_const(dropped_hidden_).view(), false, std::as_const(weights2_).view(), true, 1,
               0, device_);
    for (std::size_t i = 0; i < scores_.nrows(); ++i) {
      for (std::size_t c = 0; c < classes(); ++c) scores_(i, c) += parameters_[3].value(0, c);
    }
    spmm_into(logits_, field_.second, scores_,
              {.row_scale = field_.output_scale.span(), .col_scale = field_.middle_scale.span()}, device_);
  }

  Floats& dropped_signs() {
    if (signs_.nrows() != updated_.nrows()) signs_ = Floats(updated_.nrows(), updated_.ncols(), device_);
    return signs_;
  }

  void sign_into(Floats& out, const Floats& x) {
    parallel_for(device_, x.values().size(), 1 << 14, [&](std::size_t n) { out.values()[n] = sign(x.values()[n]); });
  }

  /// Cross entropy on the training nodes; with a teacher, plus the divergence from its predictions on all nodes.
  double loss_gradient() {
    const Score score = cross_entropy_backward_into(logits_gradient_, logits_, labels_, train_rows_);
    if (teacher_.nrows() == 0) return score.loss;
    log_softmax_into(logits_, logits_, device_);
    const float weight = teacher_weight / static_cast<float>(logits_.nrows());
    for (std::size_t i = 0; i < logits_.nrows(); ++i) {
      for (std::size_t c = 0; c < classes(); ++c)
        logits_gradient_(i, c) += weight * (std::exp(logits_(i, c)) - teacher_(i, c));
    }
    return score.loss;
  }

  void backward() {
    spmm_into(scores_gradient_, field_.second_transposed, logits_gradient_,
              {.row_scale = field_.middle_scale.span(), .col_scale = field_.output_scale.span()}, device_);
    column_sums(parameters_[3].gradient.row(0), scores_gradient_);
    float_gemm(parameters_[2].gradient.view(), std::as_const(scores_gradient_).view(), true,
               std::as_const(dropped_hidden_).view(), false, 1, 0, device_);
    weight_gradient(parameters_[2].gradient, parameters_[2].value, signs2_.alpha.span());
    for (std::size_t c = 0; c < classes(); ++c) {
      for (std::size_t f = 0; f < hidden_.ncols(); ++f) weights2_(c, f) = sign(parameters_[2].value(c, f));
    }
    float_gemm(hidden_gradient_.view(), std::as_const(scores_gradient_).view(), false, std::as_const(weights2_).view(),
               false, 1, 0, device_);
    const float scale = 1 / (1 - *options_.dropout);
    parallel_for(device_, hidden_.nrows(), 128, [&](std::size_t i) {
      for (std::size_t f = 0; f < hidden_.ncols(); ++f) {
        const bool passes = keep2_.bit(i, f) && std::fabs(hidden_(i, f)) <= 1;
        hidden_gradient_(i, f) = passes ? scale * hidden_gradient_(i, f) : 0.0F;
      }
    });
    if (votes()) {
      spmm_into(updated_gradient_, field_.first_transposed, hidden_gradient_, {.col_scale = field_.first_mean.span()},
                device_);
      parallel_for(device_, updated_.values().size(), 1 << 14, [&](std::size_t n) {
        if (std::fabs(updated_.values()[n]) > 1) updated_gradient_.values()[n] = 0;
      });
    } else {
      spmm_into(updated_gradient_, field_.first_transposed, hidden_gradient_,
                {.row_scale = field_.input_scale.span(), .col_scale = field_.middle_scale.span()}, device_);
    }
    column_sums(parameters_[1].gradient.row(0), updated_gradient_);
    expand_kept_features();
    parallel_for(device_, updated_gradient_.nrows(), 128, [&](std::size_t i) {
      for (float& g : updated_gradient_.row(i)) g *= alpha_[i];
    });
    float_gemm(parameters_[0].gradient.view(), std::as_const(updated_gradient_).view(), true,
               std::as_const(kept_features_).view(), false, 1, 0, device_);
    weight_gradient(parameters_[0].gradient, parameters_[0].value, signs1_.alpha.span());
  }

  /// The first layer's input without its scale: +1, -1, or 0 where dropped.
  void expand_kept_features() {
    static const auto table = make_byte_table();
    const auto bits = std::as_const(bits_).view();
    const auto keep = std::as_const(keep1_).view();
    parallel_for(device_, bits.nrows, 64, [&](std::size_t i) {
      float* to = kept_features_.row(i).data();
      for (std::size_t j = 0; j < bits.ncols; j += 8) {
        const std::size_t shift = j % 64;
        const std::uint64_t kept = keep.row(i)[j / 64] >> shift;
        const std::uint64_t ones = bits.row(i)[j / 64] >> shift;
        const auto& plus = table[kept & ones & 0xFFU];
        const auto& minus = table[kept & ~ones & 0xFFU];
        const std::size_t count = std::min<std::size_t>(8, bits.ncols - j);
        for (std::size_t n = 0; n < count; ++n) to[j + n] = plus[n] - minus[n];
      }
    });
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
  Binarized signs1_, signs2_;
  Floats kept_features_, updated_, updated_gradient_, signs_, hidden_, dropped_hidden_, hidden_gradient_, weights2_,
      scores_, scores_gradient_, logits_, logits_gradient_;
  std::vector<std::int32_t> labels_;
  std::vector<NodeId> train_rows_;
  bool votes_now_ = false;  ///< this epoch's first aggregation is a vote
};

}  // namespace

std::unique_ptr<Trainer> make_bi_gcn_trainer(const Dataset& dataset, const TrainOptions& options, const Device& device,
                                             Floats teacher) {
  return std::make_unique<BiGcnTrainer>(dataset, options, device, std::move(teacher));
}

}  // namespace bitgraph::nn
