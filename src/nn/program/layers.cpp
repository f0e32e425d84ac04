// SPDX-License-Identifier: Apache-2.0
// Layers as programs (include/bitgraph/nn/model.hpp, Layer).
#include "nn/program/layers.hpp"

#include "nn/model/architectures.hpp"
#include "nn/program/operators.hpp"
#include "nn/program/passes/passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace bitgraph::nn {

ValueId standard_layer(ProgramBuilder& build, const LayerShape& shape, ValueId x) {
  if (shape.aggregation == Aggregation::none)
    return build.product(x, WeightOf::neighbor, shape.outputs, BiasOf::weight);
  const ValueId update = build.product(x, WeightOf::neighbor, shape.outputs);
  if (shape.norm) return build.batch_norm(build.aggregate(update, shape.aggregation));
  if (!shape.root) return build.aggregate(update, shape.aggregation, BiasOf::layer);
  const ValueId sum = build.aggregate(update, shape.aggregation);
  return build.add(sum, build.product(x, WeightOf::root, shape.outputs), BiasOf::layer);
}

namespace {

/// Puts a readout behind the logits of the nodes, and the bias of the last layer behind it.
void read_out(Program& program, std::size_t graphs) {
  Operator& last = program.operators[program.producer(program.result)];
  const bool biased = std::exchange(last.bias, BiasOf::none) != BiasOf::none;
  put_behind(program, program.result, {.kind = OperatorKind::readout, .bias = biased ? BiasOf::layer : BiasOf::none});
  program.values[program.result].graphs = graphs;
}

}  // namespace

Program program_of(std::span<const LayerShape> layers, bool concatenates, std::size_t graphs) {
  require(!layers.empty(), "a program needs at least one layer");
  ProgramBuilder build(layers.front().inputs);
  ValueId x = build.features();
  std::vector<ValueId> outputs;  // of convolutions
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const bool last = l + 1 == layers.size();
    build.begin_layer(l);
    if (last && concatenates && l > 0) x = build.concat(outputs);
    x = (layers[l].build != nullptr ? layers[l].build : standard_layer)(build, layers[l], x);
    if (last) break;
    if (!build.makes(OperatorKind::tanh, x)) x = build.relu(x);
    if (l + 2 == layers.size() || layers[l + 1].aggregation != Aggregation::none) outputs.push_back(x);
  }
  Program program = build.finish(x);
  if (graphs != 0) read_out(program, graphs);
  return program;
}

void build_with(LayerBuilder layer, std::span<LayerShape> shapes) {
  if (layer == nullptr) return;
  for (LayerShape& shape : shapes.subspan(std::min<std::size_t>(1, shapes.size())))
    if (shape.aggregation != Aggregation::none) shape.build = layer;
}

std::vector<LayerShape> shapes_of(const Model& model) {
  std::vector<LayerShape> shapes;
  for (const Layer& l : model.layers) shapes.push_back({l.aggregation, !l.root.empty(), l.inputs(), l.outputs()});
  std::vector<LayerShape> convolution;
  traits_of(model.architecture).convolution(convolution, 1, 1, 1);
  const std::size_t linear = model.concatenates() ? 1 : 0;
  for (std::size_t l = 0; l + linear < shapes.size(); ++l) shapes[l].build = convolution[l % convolution.size()].build;
  build_with(model.layer_builder, shapes);
  return shapes;
}

namespace {

void check_weights(const Program& program, const Model& model) {
  for (const Operator& op : program.operators) {
    const auto refuse = [&](const std::string& what) {
      fail(ErrorCode::usage, fmt::format("layer {}, {}: {}", op.layer, paper_name(program, op), what));
    };
    const bool needs_layer = op.weight != WeightOf::none || op.bias != BiasOf::none;
    if (needs_layer && op.layer >= model.layers.size())
      refuse(fmt::format("the model has {} layers", model.layers.size()));
    if (op.weight == WeightOf::none) continue;
    const Layer& layer = model.layers[op.layer];
    const Linear& weight = op.weight == WeightOf::root ? layer.root : layer.neighbor;
    const std::size_t inputs = program.value(op.inputs[0]).columns;
    const std::size_t outputs = program.value(op.output()).columns;
    if (weight.empty()) refuse("the layer has no such weights");
    if (weight.inputs() != inputs || weight.outputs() != outputs)
      refuse(fmt::format("from {} to {} columns, the layer's weights are {} x {}", inputs, outputs, weight.outputs(),
                         weight.inputs()));
  }
}

}  // namespace

Program program_of(const Model& model, std::size_t graphs) {
  Program program;
  if (model.network) {
    ProgramBuilder build(model.num_features() * model.thresholds);
    program = build.finish(model.network(build));
  } else {
    program = program_of(shapes_of(model), model.concatenates(), graphs);
  }
  if (model.network || model.layer_builder != nullptr) check_weights(program, model);
  return program;
}

}  // namespace bitgraph::nn
