// SPDX-License-Identifier: Apache-2.0
// A model in plain float arithmetic, layer by layer as include/bitgraph/nn/model.hpp defines it. Layers of levels are
// in emulate_levels.cpp.
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "nn/inference/emulate_levels.hpp"
#include "nn/inference/emulate_network.hpp"
#include "nn/inference/graph_operands.hpp"
#include "nn/inference/input_features.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bitgraph::nn {

namespace {

using Floats = DenseMatrix<float>;

float sign(float x) { return x >= 0 ? 1.0F : -1.0F; }

/// x W^T + bias; signs have their scales multiplied in.
Floats product(const Floats& x, const Linear& linear, bool biased) {
  Floats weight = linear.binary() ? to_dense(linear.signs().bits) : linear.floats().clone();
  if (linear.binary()) {
    for (std::size_t f = 0; f < weight.nrows(); ++f) {
      for (float& value : weight.row(f)) value *= linear.signs().alpha[f];
    }
  }
  Floats out(x.nrows(), weight.nrows());
  float_gemm(out, x, false, weight, true);
  for (std::size_t i = 0; biased && i < out.nrows(); ++i) {
    for (std::size_t f = 0; f < out.ncols(); ++f) out(i, f) += linear.bias[f];
  }
  return out;
}

/// Every row by its signs, times its mean magnitude where `scaled`.
void binarize_rows(Floats& x, bool scaled) {
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    double alpha = 0;
    for (const float value : x.row(i)) alpha += std::fabs(value);
    alpha = scaled ? alpha / static_cast<double>(x.ncols()) : 1;
    for (float& value : x.row(i)) value = static_cast<float>(value >= 0 ? alpha : -alpha);
  }
}

Floats aggregated(GraphOperands& graph, Aggregation aggregation, const Floats& x) {
  if (aggregation == Aggregation::none) return x.clone();
  const AggregationOperand a = graph.of(aggregation);
  return spmm<DenseMatrix>(*a.pattern, x, {.row_scale = a.row_scale, .col_scale = a.col_scale});
}

void for_each(Floats& x, const Floats& y, auto&& fn) {
  for (std::size_t n = 0; n < x.values().size(); ++n) x.values()[n] = fn(x.values()[n], y.values()[n]);
}

/// Biases of what a readout follows are added behind it.
Floats layer_output(GraphOperands& graph, const Layer& layer, Precision form, Floats x, bool signs_in, bool last,
                    bool biased) {
  if (form.multiplies_signs()) binarize_rows(x, !signs_in && !layer.precision.has_plain_input());
  const bool inside = form.multiplies_signs();
  Floats own = layer.root.empty() ? Floats() : product(x, layer.root, biased);
  Floats y = product(x, layer.neighbor, inside && biased);
  if (form.votes()) {
    for_each(y, y, [](float v, float) { return sign(v); });
    if (layer.aggregation == Aggregation::none) return y;
    y = spmm<DenseMatrix>(*graph.of(layer.aggregation).pattern, y);
    for_each(y, y, [](float v, float) { return sign(v); });
    if (!layer.root.empty()) for_each(y, own, [](float v, float r) { return sign(v + sign(r)); });
    return y;
  }
  y = aggregated(graph, layer.aggregation, y);
  for (std::size_t i = 0; !inside && biased && i < y.nrows(); ++i) {
    for (std::size_t f = 0; f < y.ncols(); ++f) y(i, f) += layer.neighbor.bias[f];
  }
  if (!layer.root.empty()) for_each(y, own, [](float v, float r) { return v + r; });
  if (!form.multiplies_signs() && !last) for_each(y, y, [](float v, float) { return std::max(0.0F, v); });
  return y;
}

}  // namespace

DenseMatrix<float> emulate(const Model& model, const Dataset& dataset, const std::vector<Precision>& forms) {
  model.require_fit(dataset);
  if (model.network || model.layer_builder != nullptr)
    fail(ErrorCode::not_possible, "emulate: it computes the layers of the library, not those of your own");
  Floats x = dense_features(dataset, {.normalize_rows = model.normalize_rows}, {});
  if (!model.input_mean.empty()) {
    Floats z(x.nrows(), x.ncols() * model.thresholds);
    for (std::size_t i = 0; i < z.nrows(); ++i) {
      for (std::size_t j = 0; j < z.ncols(); ++j) {
        z(i, j) = (x(i, j / model.thresholds) - model.input_mean[j]) * model.input_inverse_deviation[j];
        if (model.input_limit > 0) z(i, j) = std::min(std::max(z(i, j), -model.input_limit), model.input_limit);
        if (model.thresholds > 1) z(i, j) = z(i, j) >= 0 ? 1.0F : -1.0F;  // rows have no scale
      }
    }
    x = std::move(z);
  }
  if (std::any_of(forms.begin(), forms.end(), [](const Precision& form) { return form.has_levels(); }))
    return emulate_levels(model, dataset, x, forms);
  GraphOperands graph(dataset.graph, {});
  Floats logits = emulate_network(model, std::move(x), [&](std::size_t l, Floats in) {
    const bool signs_in = l > 0 && forms[l - 1].votes();
    const bool last = l + 1 == model.layers.size();
    return layer_output(graph, model.layers[l], forms[l], std::move(in), signs_in, last, !last || !model.readout);
  });
  return model.readout ? read_out(logits, dataset.first_node, model.layers.back()) : std::move(logits);
}

}  // namespace bitgraph::nn
