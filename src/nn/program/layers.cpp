// SPDX-License-Identifier: Apache-2.0
// Layers as programs (include/bitgraph/nn/model.hpp, Layer).
#include "nn/program/layers.hpp"

namespace bitgraph::nn {

namespace {

/// y = aggregate(N x) + R x + the biases of both.
ValueId layer_of(ProgramBuilder& build, const LayerShape& shape, ValueId x) {
  if (shape.aggregation == Aggregation::none)
    return build.product(x, WeightOf::neighbor, shape.outputs, BiasOf::weight);
  const ValueId update = build.product(x, WeightOf::neighbor, shape.outputs);
  if (!shape.root) return build.aggregate(update, shape.aggregation, BiasOf::layer);
  const ValueId sum = build.aggregate(update, shape.aggregation);
  return build.add(sum, build.product(x, WeightOf::root, shape.outputs), BiasOf::layer);
}

}  // namespace

Program program_of(std::span<const LayerShape> layers, bool concatenates) {
  require(!layers.empty(), "a program needs at least one layer");
  ProgramBuilder build(layers.front().inputs);
  ValueId x = build.features();
  std::vector<ValueId> outputs;  // of all layers before the last
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const bool last = l + 1 == layers.size();
    build.begin_layer(l);
    if (last && concatenates && l > 0) x = build.concat(outputs);
    x = layer_of(build, layers[l], x);
    if (!last) outputs.push_back(x = build.relu(x));
  }
  return build.finish(x);
}

std::vector<LayerShape> shapes_of(const Model& model) {
  std::vector<LayerShape> shapes;
  for (const Layer& l : model.layers) shapes.push_back({l.aggregation, !l.root.empty(), l.inputs(), l.outputs()});
  return shapes;
}

Program program_of(const Model& model) { return program_of(shapes_of(model), model.concatenates()); }

}  // namespace bitgraph::nn
