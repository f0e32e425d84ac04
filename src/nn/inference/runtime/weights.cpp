// SPDX-License-Identifier: Apache-2.0
#include "nn/inference/runtime/weights.hpp"

#include <bitgraph/ops/dense.hpp>

#include "nn/model/reshape.hpp"
#include "nn/model/side_by_side.hpp"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

namespace bitgraph::nn {

namespace {

using bitgraph::nn::assign;

/// Of levels the bias alone: LevelWeights have the rest.
void assign(Linear& kept, const Linear& from, const Device& device) {
  if (from.in_levels()) return assign(kept.bias, from.bias, device);
  std::visit(
      [&](const auto& weight) {
        using Alternative = std::decay_t<decltype(weight)>;
        if (!std::holds_alternative<Alternative>(kept.weight)) kept.weight.emplace<Alternative>();
        if constexpr (!std::is_same_v<Alternative, QuantizedMatrix>)
          assign(std::get<Alternative>(kept.weight), weight, device);
      },
      from.weight);
  assign(kept.bias, from.bias, device);
}
void assign(SparseGemmWeights& kept, const SparseGemmWeights& from, const Device& device) {
  assign(kept.u, from.u, device);
  assign(kept.feature_scale, from.feature_scale, device);
  assign(kept.feature_offset, from.feature_offset, device);
}

/// Where the shapes are the same, each array takes the place of the one before, where kernels know it.
void assign(LevelWeights& kept, LevelWeights from, const Device& device) {
  if (kept.bytes() != from.bytes() || kept.offsets.size() != from.offsets.size() || kept.use != from.use) {
    kept = std::move(from);
    return;
  }
  const auto copy = [&](auto& to, const auto& of) {
    Device::copy(to.data(), device, of.data(), of.device(), of.bytes());
  };
  copy(kept.panels, from.panels);
  copy(kept.table, from.table);
  copy(kept.rows, from.rows);
  copy(kept.image, from.image);
  copy(kept.columns, from.columns);
  copy(kept.sums, from.sums);
  copy(kept.steps, from.steps);
  copy(kept.offsets, from.offsets);
}

constexpr std::size_t index_of(WeightOf which) { return static_cast<std::size_t>(which) - 1; }

std::vector<WeightUse> uses_of(const Program& program, std::size_t layers, const SparseInput& sparse) {
  std::vector<WeightUse> uses(layers);
  const auto add = [&](const Operator& op, ValueId input, ValueId output) {
    WeightUse& use = uses[op.layer];
    use.both = use.both || op.weight == WeightOf::both;
    use.layer_bias = use.layer_bias || op.bias == BiasOf::layer;
    const bool of_features = op.kind == OperatorKind::product && input == program.features;
    use.sparse = use.sparse || (of_features && sparse.bits);
    use.wide = use.wide || (of_features && sparse.floats);
    if (op.kind != OperatorKind::product || !op.multiplies_levels()) return;
    LevelWeightsUse& levels = use.levels_of(op.weight);
    if (of_features && sparse.levels) {
      levels.sparse = true;
      return;
    }
    const Value& x = program.value(input);
    levels.x_bits = x.format.bits;
    levels.strategy = op.levels;
    levels.x_packing = x.packing;
    levels.out_packing = program.value(output).packing;
  };
  for (const Operator& op : program.operators) {
    add(op, op.inputs[0], op.output());
    for (const Operator& product : op.behind) add(product, op.outputs[1], op.output());
  }
  return uses;
}

/// kept = both biases; of a layer without root weights its own. Nothing is allocated where they are on the device.
void assign_sum_of_biases(Buffer<float>& kept, const Layer& layer, const Device& device) {
  const Buffer<float>& other = layer.root.bias;
  const auto add_to = [&](Buffer<float>& bias) {
    const std::size_t size = bias.size();
    accumulate({{1, size, size, bias.data()}, bias.device()}, {{1, size, size, other.data()}, bias.device()});
  };
  const bool here = device.is_host() ? other.device().is_host() : other.device() == device;
  if (other.empty() || here) {
    assign(kept, layer.neighbor.bias, device);
    if (!other.empty()) add_to(kept);
    return;
  }
  Buffer<float> sum = layer.neighbor.bias.clone();
  add_to(sum);
  assign(kept, sum, device);
}

std::size_t bytes_of(const Linear& linear, WeightOf which, const WeightUse& use, const Device& device) {
  if (linear.empty()) return 0;
  if (linear.in_levels())
    return linear.bias.bytes() + level_weights_bytes(linear.levels(), device, use.levels_of(which));
  std::size_t total = linear.bytes();
  if (use.sparse) {
    total += linear.inputs() * words_for_bits(linear.outputs()) * sizeof(std::uint64_t);
    total += 2 * linear.outputs() * sizeof(float);
  }
  if (use.wide) total += linear.inputs() * linear.outputs() * sizeof(float);
  return total;
}

}  // namespace

SparseInput SparseInput::of(const InputFeatures& features) {
  return {.bits = features.packed && features.packed->sparse.has_value(),
          .floats = features.real && !features.real->is_dense(),
          .levels = features.sparse_levels.has_value()};
}

Weights::Weights(const Model& model, const Program& program, const InputFeatures& features, const Device& device)
    : features_(features), device_(device), layers_(model.layers.size()) {
  const std::vector<WeightUse> uses = uses_of(program, layers_.size(), SparseInput::of(features));
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    layers_[l].use = uses[l];
    shapes_.push_back({.aggregation = model.layers[l].aggregation, .precision = model.layers[l].precision});
  }
  set(model.layers);
}

const PreparedWeight& Weights::of(std::size_t layer, WeightOf which) const {
  return layers_[layer].of[index_of(which)];
}

const LevelScale& Weights::scale_of(const Value& value) const {
  const LayerWeights& layer = layers_[value.scale_layer];
  const bool input = value.levels_of == LevelsOf::input;
  const LevelScale& scale = input ? layer.input_scale : layer.message_scale;
  const std::size_t expected = value.by_degree() ? 1 : num_scales(value.format.scale, 0, value.columns);
  if (scale.steps.size() != expected) {
    fail(ErrorCode::usage, fmt::format("layer {} has {} steps of its {}, expected {}", value.scale_layer,
                                       scale.steps.size(), input ? "input" : "messages", expected));
  }
  return scale;
}

std::span<const float> Weights::bias(const Operator& op) const {
  if (op.bias == BiasOf::none) return {};
  return op.bias == BiasOf::layer ? layers_[op.layer].bias.span() : of(op).linear.bias.span();
}

void Weights::set(std::span<const Layer> layers) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    assign(layers_[l].of[index_of(WeightOf::neighbor)].linear, layers[l].neighbor, device_);
    assign(layers_[l].of[index_of(WeightOf::root)].linear, layers[l].root, device_);
    assign(layers_[l].input_scale, layers[l].input_scale, device_);
    assign(layers_[l].message_scale, layers[l].message_scale, device_);
    prepare(layers_[l], layers[l]);
  }
}

void Weights::prepare(LayerWeights& layer, const Layer& of) {
  if (layer.use.both) assign(layer.of[index_of(WeightOf::both)].linear, side_by_side(of), device_);
  if (layer.use.layer_bias) assign_sum_of_biases(layer.bias, of, device_);
  for (const auto which : {WeightOf::neighbor, WeightOf::root}) {
    const Linear& linear = which == WeightOf::neighbor ? of.neighbor : of.root;
    PreparedWeight& made = layer.of[index_of(which)];
    if (linear.empty()) continue;
    if (linear.in_levels()) {
      const QuantizedMatrix& w = linear.levels();
      // What is made on the host counts as this device's memory, where that is the host.
      const Device host = device_.is_host() ? device_ : Device();
      const QuantizedMatrix here = w.device().is_host() ? w.share(host) : w.to(host);
      assign(made.levels, prepare_level_weights(here, device_, layer.use.levels_of(which)), device_);
      continue;
    }
    if (layer.use.sparse) assign(made.sparse, sparse_weights(linear), device_);
    if (!layer.use.wide) continue;  // on the host: elsewhere features are dense
    reshape(made.wide, linear.inputs(), linear.outputs(), device_);
    transpose_into(made.wide, linear.floats());
  }
}

void Weights::prepare(const Program& program) {
  const std::vector<WeightUse> uses = uses_of(program, layers_.size(), SparseInput::of(features_));
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    LayerWeights& layer = layers_[l];
    const WeightUse before = std::exchange(layer.use, uses[l]);
    const bool more = (uses[l].sparse && !before.sparse) || (uses[l].wide && !before.wide) ||
                      (uses[l].both && !before.both) || (uses[l].layer_bias && !before.layer_bias);
    if (!more) continue;
    const Layer here{shapes_[l].aggregation, shapes_[l].precision,
                     layer.of[index_of(WeightOf::neighbor)].linear.to(Device()),
                     layer.of[index_of(WeightOf::root)].linear.to(Device())};
    prepare(layer, here);
  }
}

/// Made on the host, where the base row is.
SparseGemmWeights Weights::sparse_weights(const Linear& linear) const {
  const Linear here = linear.to(Device());
  return prepare_sparse_gemm(features_.packed->sparse->bits.base, here.signs().bits, here.signs().alpha.span());
}

std::size_t Weights::predicted_bytes(const Model& model, const Program& program, const SparseInput& sparse,
                                     const Device& device) {
  const std::vector<WeightUse> uses = uses_of(program, model.layers.size(), sparse);
  std::size_t total = 0;
  for (std::size_t l = 0; l < uses.size(); ++l) {
    const Layer& layer = model.layers[l];
    total += bytes_of(layer.neighbor, WeightOf::neighbor, uses[l], device);
    total += bytes_of(layer.root, WeightOf::root, uses[l], device);
    total += layer.input_scale.bytes() + layer.message_scale.bytes();
    if (uses[l].both) total += layer.neighbor.bytes() + layer.root.bytes();
    if (uses[l].layer_bias) total += layer.outputs() * sizeof(float);
  }
  return total;
}

}  // namespace bitgraph::nn
