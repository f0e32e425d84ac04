// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/infer.hpp>

#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "nn/normalization.hpp"
#include "nn/packed_forward.hpp"
#include "nn/sparse_product.hpp"

#include <algorithm>
#include <optional>

namespace bitgraph::nn {

namespace {

DenseMatrix<float> dense_features(const SparseFeatures& features, std::span<const float> values, const Device& device) {
  DenseMatrix<float> x(features.pattern.nrows(), features.pattern.ncols(), device);
  for (NodeId i = 0; i < features.pattern.nrows(); ++i) {
    for (EdgeOffset e = features.pattern.row_ptr()[i]; e < features.pattern.row_ptr()[i + 1]; ++e) {
      x(i, features.pattern.col_ind()[e]) = values[e];
    }
  }
  return x;
}

std::vector<RealLayer> cloned(const std::vector<RealLayer>& layers) {
  std::vector<RealLayer> copy;
  copy.reserve(layers.size());
  for (const auto& layer : layers) copy.push_back({layer.weight.clone(), layer.bias.clone()});
  return copy;
}

std::vector<BinaryLayer> cloned(const std::vector<BinaryLayer>& layers) {
  std::vector<BinaryLayer> copy;
  copy.reserve(layers.size());
  for (const auto& layer : layers) copy.push_back({layer.weight.clone(), layer.scale.clone(), layer.bias.clone()});
  return copy;
}

/// The full-precision path: the product in float, then aggregation, bias and relu.
class RealForward {
 public:
  RealForward(const NormalizedGraph& graph, const Dataset& dataset, bool normalize_rows,
              const std::vector<RealLayer>& layers, FeatureStorage storage, const Device& device)
      : graph_(graph), layers_(layers), storage_(storage), device_(device) {
    Buffer<float> values = model_features(dataset.features, normalize_rows);
    if (storage == FeatureStorage::dense) {
      dense_ = dense_features(dataset.features, values.span(), device);
    } else {
      pattern_ = dataset.features.pattern.clone();
      values_ = std::move(values);
    }
    const std::size_t n = graph.pattern.nrows();
    product_ = DenseMatrix<float>(n, layers[0].weight.ncols(), device);
    hidden_ = DenseMatrix<float>(n, layers[0].weight.ncols(), device);
    scores_ = DenseMatrix<float>(n, layers[1].weight.ncols(), device);
    logits_ = DenseMatrix<float>(n, layers[1].weight.ncols(), device);
  }

  const DenseMatrix<float>& run() {
    if (storage_ == FeatureStorage::dense) {
      float_gemm(product_.view(), std::as_const(dense_).view(), false, layers_[0].weight.view(), false, 1, 0, device_);
    } else {
      sparse_product(product_, pattern_, values_.span(), layers_[0].weight, device_);
    }
    aggregate(hidden_, product_, layers_[0]);
    parallel_for(device_, hidden_.values().size(), 1 << 14,
                 [&](std::size_t n) { hidden_.values()[n] = std::max(0.0F, hidden_.values()[n]); });
    float_gemm(scores_.view(), std::as_const(hidden_).view(), false, layers_[1].weight.view(), false, 1, 0, device_);
    aggregate(logits_, scores_, layers_[1]);
    return logits_;
  }

  [[nodiscard]] std::size_t feature_bytes() const {
    return dense_.bytes() + (values_.empty() ? 0 : pattern_.bytes()) + values_.bytes();
  }

 private:
  void aggregate(DenseMatrix<float>& out, const DenseMatrix<float>& x, const RealLayer& layer) {
    spmm_into(out, graph_.pattern, x,
              {.row_scale = graph_.scale.span(), .col_scale = graph_.scale.span(), .bias = layer.bias.span()}, device_);
  }

  const NormalizedGraph& graph_;
  const std::vector<RealLayer>& layers_;
  FeatureStorage storage_;
  Device device_;
  DenseMatrix<float> dense_;
  CsrPattern pattern_;
  Buffer<float> values_;
  DenseMatrix<float> product_, hidden_, scores_, logits_;
};

}  // namespace

struct InferencePlan::State {
  State(const Model& model, const Dataset& dataset, const Device& device)
      : graph(dataset.graph, device), real_layers(cloned(model.real)), binary_layers(cloned(model.binary)) {}

  NormalizedGraph graph;
  std::vector<RealLayer> real_layers;
  std::vector<BinaryLayer> binary_layers;
  std::optional<PackedFeatures> features;
  std::optional<PackedForward> packed;
  std::optional<RealForward> real;
  InferenceBytes bytes;
  std::string feature_format;
};

InferencePlan::InferencePlan(const Model& model, const Dataset& dataset, Precision form, const Device& device,
                             FeatureStorage storage) {
  model.require_fit(dataset);
  if ((form == Precision::real) != (model.precision == Precision::real)) {
    fail(ErrorCode::usage, "a model of precision " + std::string(to_string(model.precision)) + " has no form " +
                               std::string(to_string(form)));
  }
  state_ = std::make_unique<State>(model, dataset, device);
  State& s = *state_;
  s.bytes.graph = s.graph.bytes();
  s.bytes.model = model.bytes();
  if (form == Precision::real) {
    s.real.emplace(s.graph, dataset, model.normalize_rows, s.real_layers, storage, device);
    s.bytes.features = s.real->feature_bytes();
    s.feature_format = storage == FeatureStorage::dense ? "float" : "sparse float";
    return;
  }
  const Buffer<float> values = model_features(dataset.features, model.normalize_rows);
  s.features.emplace(dataset.features, values.span(),
                     ColumnMap{model.input_mean.span(), model.input_inverse_deviation.span()}, device);
  s.packed.emplace(s.graph, *s.features, model.hidden(), model.num_classes(), form, device);
  s.packed->set_weights(s.binary_layers[0], s.binary_layers[1]);
  s.bytes.features = s.features->bytes();
  s.feature_format = s.features->sparse ? "sparse bits" : "bits";
}

InferencePlan::~InferencePlan() = default;
InferencePlan::InferencePlan(InferencePlan&&) noexcept = default;

const DenseMatrix<float>& InferencePlan::run() { return state_->packed ? state_->packed->run() : state_->real->run(); }

InferenceBytes InferencePlan::bytes() const noexcept { return state_->bytes; }

std::string InferencePlan::feature_format() const { return state_->feature_format; }

Buffer<std::int32_t> predict(const DenseMatrix<float>& logits) {
  Buffer<std::int32_t> classes(logits.nrows());
  for (std::size_t i = 0; i < logits.nrows(); ++i) {
    const auto row = logits.row(i);
    classes[i] = static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
  }
  return classes;
}

DenseMatrix<float> emulate(const Model& model, const Dataset& dataset, Precision form) {
  model.require_fit(dataset);
  const NormalizedGraph graph(dataset.graph, {});
  const Buffer<float> values = model_features(dataset.features, model.normalize_rows);
  DenseMatrix<float> x = dense_features(dataset.features, values.span(), {});
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    for (std::size_t j = 0; j < x.ncols(); ++j)
      x(i, j) = (x(i, j) - model.input_mean[j]) * model.input_inverse_deviation[j];
  }
  const SpmmOptions normalization{.row_scale = graph.scale.span(), .col_scale = graph.scale.span()};
  for (std::size_t l = 0; l < model.binary.size(); ++l) {
    const BinaryLayer& layer = model.binary[l];
    const bool first = l == 0;
    for (std::size_t i = 0; i < x.nrows(); ++i) {
      double alpha = 0;
      for (const float value : x.row(i)) alpha += std::fabs(value);
      alpha = form == Precision::bin && !first ? 1 : alpha / static_cast<double>(x.ncols());
      for (float& value : x.row(i)) value = static_cast<float>(value >= 0 ? alpha : -alpha);
    }
    DenseMatrix<float> weight = to_dense(layer.weight);
    for (std::size_t f = 0; f < weight.nrows(); ++f) {
      for (float& value : weight.row(f)) value *= layer.scale[f];
    }
    DenseMatrix<float> updated(x.nrows(), weight.nrows());
    float_gemm(updated.view(), std::as_const(x).view(), false, std::as_const(weight).view(), true);
    const bool vote = form == Precision::bin && first;
    for (std::size_t i = 0; i < updated.nrows(); ++i) {
      for (std::size_t f = 0; f < updated.ncols(); ++f) {
        updated(i, f) += layer.bias[f];
        if (vote) updated(i, f) = updated(i, f) >= 0 ? 1.0F : -1.0F;
      }
    }
    x = spmm<DenseMatrix>(graph.pattern, updated, vote ? SpmmOptions{} : normalization);
  }
  return x;
}

}  // namespace bitgraph::nn
