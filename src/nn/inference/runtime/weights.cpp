// SPDX-License-Identifier: Apache-2.0
#include "nn/inference/runtime/weights.hpp"

#include "nn/model/side_by_side.hpp"
#include "nn/model/transposed.hpp"

#include <utility>

namespace bitgraph::nn {

namespace {

void copy_into(Buffer<float>& kept, const Buffer<float>& made) {
  Device::copy(kept.data(), kept.device(), made.data(), made.device(), made.bytes());
}
void copy_into(BitMatrix<PlusMinusOne>& kept, const BitMatrix<PlusMinusOne>& made) {
  Device::copy(kept.words().data(), kept.device(), made.words().data(), made.device(), made.words().size_bytes());
}
void copy_into(DenseMatrix<float>& kept, const DenseMatrix<float>& made) {
  Device::copy(kept.values().data(), kept.device(), made.values().data(), made.device(), made.bytes());
}
void copy_into(Binarized& kept, const Binarized& made) {
  copy_into(kept.bits, made.bits);
  copy_into(kept.alpha, made.alpha);
}

void renew(Linear& kept, Linear made, bool in_place) {
  if (!in_place) {
    kept = std::move(made);
    return;
  }
  std::visit([&](auto& weight) { copy_into(weight, std::get<std::remove_reference_t<decltype(weight)>>(made.weight)); },
             kept.weight);
  copy_into(kept.bias, made.bias);
}
void renew(SparseGemmWeights& kept, SparseGemmWeights made, bool in_place) {
  if (!in_place) {
    kept = std::move(made);
    return;
  }
  copy_into(kept.u, made.u);
  copy_into(kept.feature_scale, made.feature_scale);
  copy_into(kept.feature_offset, made.feature_offset);
}
void renew(Buffer<float>& kept, Buffer<float> made, bool in_place) {
  if (in_place) return copy_into(kept, made);
  kept = std::move(made);
}

constexpr std::size_t index_of(WeightOf which) { return static_cast<std::size_t>(which) - 1; }

std::vector<WeightUse> uses_of(const Program& program, std::size_t layers, bool sparse_bits, bool sparse_floats) {
  std::vector<WeightUse> uses(layers);
  for (const Operator& op : program.operators) {
    WeightUse& use = uses[op.layer];
    use.both = use.both || op.weight == WeightOf::both;
    use.layer_bias = use.layer_bias || op.bias == BiasOf::layer;
    const bool of_features = op.kind == OperatorKind::product && op.inputs[0] == program.features;
    use.sparse = use.sparse || (of_features && sparse_bits);
    use.wide = use.wide || (of_features && sparse_floats);
  }
  return uses;
}

/// Both biases; of a layer without root weights its own.
Buffer<float> sum_of_biases(const Layer& layer) {
  Buffer<float> bias = layer.neighbor.bias.clone();
  if (layer.root.empty()) return bias;
  for (std::size_t f = 0; f < bias.size(); ++f) bias[f] += layer.root.bias[f];
  return bias;
}

std::size_t bytes_of(const Linear& linear, const WeightUse& use) {
  if (linear.empty()) return 0;
  std::size_t total = linear.bytes();
  if (use.sparse) {
    total += linear.inputs() * words_for_bits(linear.outputs()) * sizeof(std::uint64_t);
    total += 2 * linear.outputs() * sizeof(float);
  }
  if (use.wide) total += linear.inputs() * linear.outputs() * sizeof(float);
  return total;
}

}  // namespace

Weights::Weights(const Model& model, const Program& program, const InputFeatures& features, const Device& device)
    : features_(features), device_(device), layers_(model.layers.size()) {
  const std::vector<WeightUse> uses =
      uses_of(program, layers_.size(), features.packed && features.packed->sparse.has_value(),
              features.real && !features.real->is_dense());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    layers_[l].use = uses[l];
    shapes_.push_back({.aggregation = model.layers[l].aggregation, .precision = model.layers[l].precision});
  }
  set(model, false);
}

const PreparedWeight& Weights::of(std::size_t layer, WeightOf which) const {
  return layers_[layer].of[index_of(which)];
}

std::span<const float> Weights::bias(const Operator& op) const {
  if (op.bias == BiasOf::none) return {};
  return op.bias == BiasOf::layer ? layers_[op.layer].bias.span() : of(op).linear.bias.span();
}

void Weights::set(const Model& model, bool in_place) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    renew(layers_[l].of[index_of(WeightOf::neighbor)].linear, model.layers[l].neighbor.to(device_), in_place);
    renew(layers_[l].of[index_of(WeightOf::root)].linear, model.layers[l].root.to(device_), in_place);
    prepare(layers_[l], model.layers[l], in_place);
  }
}

void Weights::prepare(LayerWeights& layer, const Layer& on_host, bool in_place) {
  if (layer.use.both) renew(layer.of[index_of(WeightOf::both)].linear, side_by_side(on_host).to(device_), in_place);
  if (layer.use.layer_bias) renew(layer.bias, sum_of_biases(on_host).to(device_), in_place);
  for (const auto which : {WeightOf::neighbor, WeightOf::root}) {
    const Linear& linear = which == WeightOf::neighbor ? on_host.neighbor : on_host.root;
    PreparedWeight& made = layer.of[index_of(which)];
    if (linear.empty()) continue;
    if (layer.use.sparse) renew(made.sparse, sparse_weights(linear), in_place);
    if (layer.use.wide) made.wide = transposed(linear.floats()).to(device_);
  }
}

void Weights::prepare(const Program& program) {
  const std::vector<WeightUse> uses =
      uses_of(program, layers_.size(), features_.packed && features_.packed->sparse.has_value(),
              features_.real && !features_.real->is_dense());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    LayerWeights& layer = layers_[l];
    const WeightUse before = std::exchange(layer.use, uses[l]);
    const bool more = (uses[l].sparse && !before.sparse) || (uses[l].wide && !before.wide) ||
                      (uses[l].both && !before.both) || (uses[l].layer_bias && !before.layer_bias);
    if (!more) continue;
    const Layer here{shapes_[l].aggregation, shapes_[l].precision,
                     layer.of[index_of(WeightOf::neighbor)].linear.to(Device()),
                     layer.of[index_of(WeightOf::root)].linear.to(Device())};
    prepare(layer, here, false);
  }
}

/// Made on the host, where models are.
SparseGemmWeights Weights::sparse_weights(const Linear& linear) const {
  SparseGemmWeights made =
      prepare_sparse_gemm(features_.packed->sparse->bits.base, linear.signs().bits, linear.signs().alpha.span());
  if (device_.is_host()) return made;
  return {made.u.to(device_), made.feature_scale.to(device_), made.feature_offset.to(device_)};
}

std::size_t Weights::predicted_bytes(const Model& model, const Program& program, bool sparse_bits, bool sparse_floats) {
  const std::vector<WeightUse> uses = uses_of(program, model.layers.size(), sparse_bits, sparse_floats);
  std::size_t total = 0;
  for (std::size_t l = 0; l < uses.size(); ++l) {
    const Layer& layer = model.layers[l];
    total += bytes_of(layer.neighbor, uses[l]) + bytes_of(layer.root, uses[l]);
    if (uses[l].both) total += layer.neighbor.bytes() + layer.root.bytes();
    if (uses[l].layer_bias) total += layer.outputs() * sizeof(float);
  }
  return total;
}

}  // namespace bitgraph::nn
