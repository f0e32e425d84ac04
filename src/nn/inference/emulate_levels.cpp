// SPDX-License-Identifier: Apache-2.0
// Layers of levels in plain double arithmetic. Nothing here knows of programs, kernels or packed formats.
#include "nn/inference/emulate_levels.hpp"

#include <bitgraph/ops/quantize.hpp>

#include "nn/inference/emulate_network.hpp"
#include "nn/model/layer_forms.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bitgraph::nn {

namespace {

using Doubles = DenseMatrix<double>;

/// The values of the levels that are nearest to x.
void round_to_levels(Doubles& x, const LevelScale& scale, int bits) {
  const double most = std::ldexp(1.0, bits) - 1;
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    for (std::size_t j = 0; j < x.ncols(); ++j) {
      const double step = scale.step(i, j), offset = scale.offset(i, j);
      const double level = std::clamp(std::nearbyint((x(i, j) - offset) / step), 0.0, most);  // ties to even
      x(i, j) = step * level + offset;
    }
  }
}

/// The same with steps by degree: by a power of 1 + neighbours.
void round_by_degree(Doubles& x, const LevelScale& scale, int bits, const CsrPattern& graph, double power) {
  const auto scale_rows = [&](double by) {
    for (NodeId i = 0; i < graph.nrows(); ++i) {
      for (double& value : x.row(i)) value *= std::pow(1 + static_cast<double>(graph.row(i).size()), by);
    }
  };
  scale_rows(-power);
  round_to_levels(x, scale, bits);
  scale_rows(power);
}

double weight_of(const Linear& linear, std::size_t output, std::size_t input) {
  if (!linear.in_levels()) return linear.floats()(output, input);
  const LevelScale& scale = linear.levels().scale();
  return static_cast<double>(scale.step(output, input)) * linear.levels().level(output, input) +
         static_cast<double>(scale.offset(output, input));
}

/// x W^T, without the bias.
Doubles product(const Doubles& x, const Linear& linear) {
  Doubles weight(linear.outputs(), linear.inputs());
  for (std::size_t f = 0; f < weight.nrows(); ++f) {
    for (std::size_t j = 0; j < weight.ncols(); ++j) weight(f, j) = weight_of(linear, f, j);
  }
  Doubles out(x.nrows(), weight.nrows());
  for (std::size_t i = 0; i < out.nrows(); ++i) {
    for (std::size_t f = 0; f < out.ncols(); ++f) {
      for (std::size_t j = 0; j < x.ncols(); ++j) out(i, f) += x(i, j) * weight(f, j);
    }
  }
  return out;
}

/// A layer's neighbours: entries of A, or of A + I.
class Neighbors {
 public:
  Neighbors(const CsrPattern& graph, Aggregation aggregation)
      : graph_(graph),
        aggregation_(aggregation),
        loops_(aggregation != Aggregation::mean && aggregation != Aggregation::sum) {}

  /// What comes from node j is multiplied by it, before it is a message.
  [[nodiscard]] double factor_before(NodeId j) const {
    return aggregation_ == Aggregation::symmetric ? 1 / std::sqrt(degree(j)) : 1;
  }

  /// What a node's neighbours sum up to.
  [[nodiscard]] Doubles summed(const Doubles& messages) const {
    Doubles out(messages.nrows(), messages.ncols());
    for (NodeId i = 0; i < graph_.nrows(); ++i) {
      for (std::size_t f = 0; f < out.ncols(); ++f) {
        if (loops_) out(i, f) += messages(i, f);
        for (const NodeId j : graph_.row(i)) out(i, f) += messages(j, f);
        out(i, f) *= factor_behind(i);
      }
    }
    return out;
  }

 private:
  [[nodiscard]] double degree(NodeId i) const { return static_cast<double>(graph_.row(i).size()) + (loops_ ? 1 : 0); }

  [[nodiscard]] double factor_behind(NodeId i) const {
    switch (aggregation_) {
      case Aggregation::symmetric: return 1 / std::sqrt(degree(i));
      case Aggregation::mean:
      case Aggregation::mean_with_self: return degree(i) > 0 ? 1 / degree(i) : 0;
      default: return 1;
    }
  }

  const CsrPattern& graph_;
  Aggregation aggregation_;
  bool loops_;
};

Doubles aggregated(const CsrPattern& graph, const Layer& layer, const Precision& form, Doubles x) {
  const Neighbors neighbors(graph, layer.aggregation);
  for (NodeId j = 0; j < graph.nrows(); ++j) {
    for (double& value : x.row(j)) value *= neighbors.factor_before(j);
  }
  if (form.sums_levels()) round_to_levels(x, layer.message_scale, form.messages.bits);
  return neighbors.summed(x);
}

void add_bias(Doubles& y, const Linear& linear) {
  for (std::size_t i = 0; i < y.nrows(); ++i) {
    for (std::size_t f = 0; f < y.ncols(); ++f) y(i, f) += static_cast<double>(linear.bias[f]);
  }
}

/// Its input is in levels already, where it multiplies levels. Biases of what a readout follows are added behind it.
Doubles layer_output(const CsrPattern& graph, const Layer& layer, const Precision& form, const Doubles& x, bool last,
                     bool biased) {
  Doubles y = product(x, layer.neighbor);
  if (layer.aggregation != Aggregation::none) y = aggregated(graph, layer, form, std::move(y));
  if (biased) add_bias(y, layer.neighbor);
  if (!layer.root.empty()) {
    Doubles own = product(x, layer.root);
    if (biased) add_bias(own, layer.root);
    for (std::size_t n = 0; n < y.values().size(); ++n) y.values()[n] += own.values()[n];
  }
  for (double& value : y.values()) value = last ? value : std::max(0.0, value);
  return y;
}

template <class To, class From>
DenseMatrix<To> converted(const DenseMatrix<From>& x) {
  DenseMatrix<To> out(x.nrows(), x.ncols());
  std::transform(x.values().begin(), x.values().end(), out.values().begin(),
                 [](From value) { return static_cast<To>(value); });
  return out;
}

}  // namespace

DenseMatrix<float> emulate_levels(const Model& model, const Dataset& dataset, const DenseMatrix<float>& features,
                                  const std::vector<Precision>& forms) {
  const bool sums = std::any_of(model.layers.begin(), model.layers.end(),
                                [](const Layer& layer) { return is_sum(layer.aggregation); });
  const double power = sums ? 0.5 : 0.25;  // of 1 + neighbours
  const auto layer = [&](std::size_t l, Doubles x) {
    const int bits = forms[l].input.bits;
    if (forms[l].multiplies_levels() && l == 0) {
      // Each row of the features has a scale of its own, which no file holds: it is of the row's values.
      round_to_levels(x, choose_scale(features, {.bits = bits, .extent = ScaleExtent::row, .keeps_zero = true}), bits);
    } else if (forms[l].input_by_degree()) {
      round_by_degree(x, model.layers[l].input_scale, bits, dataset.graph, power);
    } else if (forms[l].multiplies_levels()) {
      round_to_levels(x, model.layers[l].input_scale, bits);
    }
    const bool last = l + 1 == model.layers.size();
    return layer_output(dataset.graph, model.layers[l], forms[l], x, last, !last || !model.readout);
  };
  const Doubles logits = emulate_network(model, converted<double>(features), layer);
  return converted<float>(model.readout ? read_out(logits, dataset.first_node, model.layers.back()) : logits.clone());
}

}  // namespace bitgraph::nn
