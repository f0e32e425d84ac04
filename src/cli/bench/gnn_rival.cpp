// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/gnn_rival.hpp"

#include <bitgraph/ops/add.hpp>
#include <bitgraph/ops/concat.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/gradient.hpp>

#include "nn/inference/graph_operands.hpp"

#include <cmath>

namespace bitgraph::cli {

namespace {

/// The aggregation's matrix with its weights written out, a float an entry.
struct WeightedPattern {
  CsrPattern pattern;
  std::vector<float> values;
};

WeightedPattern weighted(const CsrPattern& graph, nn::Aggregation aggregation) {
  const bool loops = nn::has_loops(aggregation);
  WeightedPattern out{loops ? with_self_loops(graph) : graph.clone(), {}};
  const auto degree = [&](NodeId i) { return static_cast<float>(out.pattern.row(i).size()); };
  for (NodeId i = 0; i < out.pattern.nrows(); ++i) {
    for (const NodeId j : out.pattern.row(i)) {
      switch (aggregation) {
        case nn::Aggregation::symmetric: out.values.push_back(1 / std::sqrt(degree(i) * degree(j))); break;
        case nn::Aggregation::sum:
        case nn::Aggregation::sum_with_self: out.values.push_back(1); break;
        default: out.values.push_back(1 / degree(i));
      }
    }
  }
  return out;
}

}  // namespace

DenseMatrix<float> GnnRival::features_of(const Dataset& dataset, const Device& device) {
  if (dataset.has_dense_features()) return dataset.dense_features.to(device);
  Floats x(dataset.graph.nrows(), dataset.num_features());
  const CsrPattern& pattern = dataset.features.pattern;
  for (NodeId i = 0; i < pattern.nrows(); ++i) {
    for (EdgeOffset e = pattern.row_ptr()[i]; e < pattern.row_ptr()[i + 1]; ++e)
      x(i, pattern.col_ind()[e]) = dataset.features.values[e];
  }
  return x.to(device);
}

std::unique_ptr<GnnRival> GnnRival::make(const nn::Model& model, const Dataset& dataset, const Device& device,
                                         std::string& absent) {
  std::unique_ptr<GnnRival> rival(new GnnRival(model, dataset, device));
  if (!rival->open(dataset, absent)) return nullptr;
  rival->build(model.concatenates());
  return rival;
}

bool GnnRival::open(const Dataset& dataset, std::string& absent) {
  const WeightedPattern a = weighted(dataset.graph, layers_.front().aggregation);
  const PeerMatrix matrix{a.pattern.nrows(), a.pattern.ncols(), a.pattern.row_ptr(), a.pattern.col_ind()};
  graph_ = make_spmm_rival(matrix, a.values, device_, absent);
  return graph_ != nullptr;
}

/// Products first: the widths fall from layer to layer.
DenseMatrix<float>& GnnRival::layer(std::size_t l, const Floats& x) {
  const nn::Layer& layer = layers_[l];
  const bool last = l + 1 == layers_.size();
  Floats& product = floats(layer.outputs());
  if (layer.aggregation == nn::Aggregation::none) {
    steps_.emplace_back([&product, &x, &layer] {
      gemm_into(product, x, layer.neighbor.floats(), {.bias = layer.neighbor.bias.span()});
    });
    if (!last) steps_.emplace_back([&product] { relu(product); });
    return product;
  }
  steps_.emplace_back([&product, &x, &layer] { float_gemm(product, x, false, layer.neighbor.floats(), true); });
  Floats& sums = floats(layer.outputs());
  graph_->prepare(sums, product);
  steps_.emplace_back([this, &sums, &product] { graph_->multiply(sums, product); });
  if (!layer.root.empty()) {
    Floats& own = floats(layer.outputs());
    steps_.emplace_back([&own, &x, &layer] { float_gemm(own, x, false, layer.root.floats(), true); });
    steps_.emplace_back([&sums, &own, &layer, last] {
      add_into(sums, sums, own,
               {.bias = layer.neighbor.bias.span(), .activation = last ? Activation::none : Activation::relu});
    });
  } else if (!last) {
    steps_.emplace_back([&sums] { relu(sums); });
  }
  return sums;
}

void GnnRival::build(bool concatenates) {
  const Floats* x = &features_;
  auto& outputs = parts_.emplace_back();
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (concatenates && l + 1 == layers_.size()) {
      std::size_t width = 0;
      for (const Floats* part : outputs) width += part->ncols();
      Floats& joined = floats(width);
      steps_.emplace_back([&joined, &outputs] { concat_into(joined, std::span<const Floats* const>(outputs)); });
      x = &joined;
    }
    x = &layer(l, *x);
    if (l + 1 == layers_.size()) break;
    if (l + 2 == layers_.size() || layers_[l + 1].aggregation != nn::Aggregation::none) outputs.push_back(x);
  }
  logits_ = x;
}

const DenseMatrix<float>& GnnRival::run() {
  recording_.repeat(device_, [this] {
    for (const auto& step : steps_) step();
  });
  return *logits_;
}

}  // namespace bitgraph::cli
