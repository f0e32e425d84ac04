// SPDX-License-Identifier: Apache-2.0
// Models with random weights, for tests and benchmarks.
#pragma once

#include <bitgraph/core/random.hpp>
#include <bitgraph/nn/model.hpp>

#include "nn/model/layer_forms.hpp"

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace bitgraph::nn {

/// Glorot and Bengio 2010, and biases in +-0.1.
inline Linear random_linear(std::size_t outputs, std::size_t inputs, bool real, RandomKey& key) {
  DenseMatrix<float> weight(outputs, inputs);
  ++key.tensor;
  const float bound = std::sqrt(6.0F / static_cast<float>(inputs + outputs));
  for (std::size_t n = 0; n < weight.values().size(); ++n)
    weight.values()[n] = bound * (2 * random_uniform(key, n) - 1);
  Buffer<float> bias(outputs);
  ++key.tensor;
  for (std::size_t f = 0; f < outputs; ++f) bias[f] = 0.1F * (2 * random_uniform(key, f) - 1);
  return make_linear(std::move(weight), std::move(bias), !real);
}

/// A model that no training made; its batch norm is near the identity.
inline Model random_model(Architecture architecture, Precision precision, std::size_t num_features, std::size_t hidden,
                          std::size_t num_classes, std::size_t depth, std::uint64_t seed,
                          bool jumping_knowledge = false) {
  Model model;
  model.architecture = architecture;
  model.precision = precision;
  model.dataset = "random";
  model.jumping_knowledge = jumping_knowledge;
  const bool real = !precision.multiplies_signs();
  RandomKey key{seed, 0, 0};
  for (const LayerShape& shape :
       layer_shapes(architecture, num_features, hidden, num_classes, depth, jumping_knowledge)) {
    Layer layer{.aggregation = shape.aggregation};
    layer.neighbor = random_linear(shape.outputs, shape.inputs, real, key);
    if (shape.root) layer.root = random_linear(shape.outputs, shape.inputs, real, key);
    model.layers.push_back(std::move(layer));
  }
  const std::vector<Precision> forms = forms_of(precision, model.layers);
  for (std::size_t l = 0; l < model.layers.size(); ++l) model.layers[l].precision = forms[l];
  if (!real) {
    model.input_mean = Buffer<float>(num_features);
    model.input_inverse_deviation = Buffer<float>(num_features);
    ++key.tensor;
    for (std::size_t j = 0; j < num_features; ++j) {
      model.input_mean[j] = 0.2F * random_uniform(key, 2 * j);
      model.input_inverse_deviation[j] = 0.5F + random_uniform(key, 2 * j + 1);
    }
  }
  return model;
}

}  // namespace bitgraph::nn
