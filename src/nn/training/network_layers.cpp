// SPDX-License-Identifier: Apache-2.0
#include "nn/training/network_layers.hpp"

#include <bitgraph/ops/batch_norm.hpp>
#include <bitgraph/ops/dense.hpp>
#include <bitgraph/ops/fake_quantize.hpp>
#include <bitgraph/ops/quantize.hpp>

#include "nn/model/architectures.hpp"
#include "nn/model/layer_forms.hpp"
#include "nn/model/reshape.hpp"
#include "nn/program/layers.hpp"

#include <utility>

namespace bitgraph::nn {

namespace {

using Floats = DenseMatrix<float>;

/// Streams of random numbers: weights from 1 on, two a layer. Dropout and the order of batches have their own.
constexpr std::uint32_t weight_streams = 1;

void scale(Floats& values, float factor) { accumulate(values, std::as_const(values), factor, 0); }
void scale(Buffer<float>& values, float factor) {
  const DenseView<float> view{1, values.size(), values.size(), values.data()};
  accumulate({view, values.device()}, {{1, values.size(), values.size(), values.data()}, values.device()}, factor, 0);
}

/// Training takes the mean row off the first layer's input: the model has it in its bias.
void take_center_off(Linear& linear, const Floats& center, Floats& signs) {
  const std::size_t outputs = linear.outputs();
  subtract_center({{1, outputs, outputs, linear.bias.data()}, linear.bias.device()}, linear.signs(), center, signs);
}

/// Of the same architecture and the same widths.
bool has_shapes(const Model& model, Architecture architecture, const std::vector<LayerShape>& shapes) {
  if (model.architecture != architecture || model.layers.size() != shapes.size()) return false;
  for (std::size_t l = 0; l < shapes.size(); ++l) {
    if (model.layers[l].inputs() != shapes[l].inputs || model.layers[l].outputs() != shapes[l].outputs) return false;
  }
  return true;
}

}  // namespace

std::vector<LayerShape> trained_shapes(const Dataset& dataset, const TrainOptions& options) {
  auto shapes = layer_shapes(options.architecture, dataset.num_features(), options.hidden,
                             static_cast<std::size_t>(dataset.num_classes), options.depth, options.jumping_knowledge);
  build_with(options.layer_builder, shapes);
  return shapes;
}

Program trained_program(const Dataset& dataset, const TrainOptions& options) {
  const bool concatenates = options.jumping_knowledge || traits_of(options.architecture).concatenates;
  return program_of(trained_shapes(dataset, options), concatenates);
}

NetworkLayers::NetworkLayers(std::vector<Parameter>& parameters, std::vector<LayerShape> shapes,
                             const TrainOptions& options, const Recipe& recipe, const Device& device)
    : parameters_(parameters), shapes_(std::move(shapes)), precision_(options.precision), device_(device) {
  for (std::size_t l = 0; l < shapes_.size(); ++l) {
    // Kipf and Welling let the weights of the first layer alone decay; Bi-GCN all.
    const float decay = real() && l != 0 ? 0.0F : *options.weight_decay;
    const std::string name = "layer" + std::to_string(l);
    neighbor_.push_back(add_linear(name + ".neighbor", shapes_[l], decay, true, options.seed));
    // A real layer adds up both biases: one is enough.
    root_.push_back(shapes_[l].root ? add_linear(name + ".root", shapes_[l], decay, !real(), options.seed)
                                    : LinearPlaces{});
    norm_.push_back(add_norm(name + ".norm", shapes_[l], real() ? 0.0F : *options.weight_decay));
    add_scales(name, l);
  }
  if (recipe.even_scales) even_out_scales();
  if (!real() && options.start != nullptr) {
    start_from(*options.start);
  } else if (recipe.teacher_weights && options.teacher != nullptr &&
             has_shapes(*options.teacher, options.architecture, shapes_)) {
    start_from(*options.teacher);
  }
}

std::vector<Precision> NetworkLayers::forms(bool votes) const {
  std::vector<Precision> forms = forms_of(precision_, shapes_);
  for (Precision& form : forms) {
    if (form.votes() && !votes) form = form.of_last_layer();
  }
  return forms;
}

NetworkLayers::LinearPlaces NetworkLayers::add_linear(const std::string& name, const LayerShape& shape, float decay,
                                                      bool bias, std::uint64_t seed) {
  const auto first = static_cast<int>(parameters_.size());
  parameters_.emplace_back(name + ".weight", shape.outputs, shape.inputs, decay, device_);
  parameters_.back().glorot(seed, weight_streams + static_cast<std::uint32_t>(first));
  if (!bias) return {first, -1};
  parameters_.emplace_back(name + ".bias", 1, shape.outputs, decay, device_);
  return {first, first + 1};
}

/// A scale of levels: zeros are steps of 1 without an offset.
int NetworkLayers::add_scale(const std::string& name, std::size_t count) {
  parameters_.emplace_back(name + ".levels", 2, count, 0.0F, device_);
  return static_cast<int>(parameters_.size()) - 1;
}

void NetworkLayers::add_scales(const std::string& name, std::size_t l) {
  const LayerShape& shape = shapes_[l];
  const Precision form = forms(true)[l];
  if (form.multiplies_levels()) {
    neighbor_[l].scale = add_scale(name + ".neighbor.weight", shape.outputs);
    if (shape.root) root_[l].scale = add_scale(name + ".root.weight", shape.outputs);
  }
  inputs_.push_back(form.multiplies_levels() && l > 0 ? add_scale(name + ".input", 1) : -1);
  const bool sums = form.sums_levels() && shape.aggregation != Aggregation::none;
  messages_.push_back(sums ? add_scale(name + ".message", shape.outputs) : -1);
}

/// The place of its scale, which mean and variance follow. No gradient changes these: a step leaves there what it saw,
/// and the average is what a model is given.
int NetworkLayers::add_norm(const std::string& name, const LayerShape& shape, float decay) {
  if (!shape.norm) return -1;
  const auto first = static_cast<int>(parameters_.size());
  for (const std::string part : {".scale", ".mean", ".variance"}) {
    Parameter& row = parameters_.emplace_back(name + part, 1, shape.outputs, part == ".scale" ? decay : 0.0F, device_);
    if (part != ".mean") row.value = {1, shape.outputs, Buffer<float>(shape.outputs, 1.0F, device_)};
    if (part != ".scale") row.keep_average();
  }
  return first;
}

/// One unit of each hidden layer is always on and as large as the layer is wide, so that the mean magnitude of a row,
/// by which its signs are multiplied in the next layer, is a little above 1 for every node. Without it a node counts
/// the more the less its neighbours agree, or, of sums, the more of them there are. No gradient reaches such a unit.
void NetworkLayers::even_out_scales() {
  constexpr std::size_t least_width = 16;
  if (shapes_.front().outputs < least_width) return;
  for (std::size_t l = 0; l + 1 < shapes_.size(); ++l) {
    Floats& bias = parameter(shapes_[l].root ? root_[l].bias : neighbor_[l].bias).value;
    Floats values = bias.to(Device{});
    values(0, 0) = static_cast<float>(shapes_[l].outputs);
    bias = values.to(device_);
  }
}

/// Latent weights start where a float model of the same shape ended.
void NetworkLayers::start_from(const Model& model) {
  for (std::size_t l = 0; l < shapes_.size(); ++l) {
    parameter(neighbor_[l].weight).start_from(model.layers[l].neighbor.floats());
    if (shapes_[l].root) parameter(root_[l].weight).start_from(model.layers[l].root.floats());
  }
}

void NetworkLayers::continue_from(const Model& model, const FoldedFactors& factors) {
  for (std::size_t l = 0; l < shapes_.size(); ++l) {
    const Layer& layer = model.layers[l];
    Floats weight = layer.neighbor.floats().clone();
    if (is_sum(shapes_[l].aggregation)) {
      for (float& w : weight.values()) w /= factors.sum;
    }
    if (l == 0) {
      for (float& w : weight.values()) w /= factors.features;
    }
    if (is_last(l)) {
      for (float& w : weight.values()) w /= factors.readout;
    }
    Floats bias(1, layer.outputs(), layer.neighbor.bias.clone());
    if (shapes_[l].root) {
      for (std::size_t f = 0; f < layer.outputs(); ++f) bias(0, f) += layer.root.bias[f];
      Floats root = layer.root.floats().clone();
      for (float& w : root.values()) w /= is_last(l) ? factors.readout : 1.0F;
      parameter(root_[l].weight).value = root.to(device_);
    }
    parameter(neighbor_[l].weight).value = weight.to(device_);
    parameter(neighbor_[l].bias).value = bias.to(device_);
  }
}

std::vector<LayerParameters> NetworkLayers::places() {
  std::vector<LayerParameters> all;
  for (std::size_t l = 0; l < shapes_.size(); ++l) {
    all.push_back({.neighbor = linear_places(neighbor_[l]),
                   .root = linear_places(root_[l]),
                   .norm = norm_places(norm_[l]),
                   .neighbor_scale = scale_places(neighbor_[l].scale),
                   .root_scale = scale_places(root_[l].scale),
                   .input_scale = scale_places(inputs_[l]),
                   .message_scale = scale_places(messages_[l])});
  }
  return all;
}

ScaleParameters NetworkLayers::scale_places(int scale) {
  if (scale < 0) return {};
  return {&parameter(scale).value, &parameter(scale).gradient};
}

NormParameters NetworkLayers::norm_places(int scale) {
  if (scale < 0) return {};
  return {&parameter(scale).value, &parameter(scale).gradient, &parameter(scale + 1).value,
          &parameter(scale + 2).value};
}

LinearParameters NetworkLayers::linear_places(const LinearPlaces& at) {
  LinearParameters linear;
  if (at.weight >= 0) {
    Parameter& weight = parameter(at.weight);
    linear.weight = &weight.value;
    linear.weight_gradient = &weight.gradient;
  }
  if (at.bias >= 0) {
    Parameter& bias = parameter(at.bias);
    linear.bias = &bias.value;
    linear.bias_gradient = &bias.gradient;
  }
  return linear;
}

void NetworkLayers::take_layers(std::vector<Layer>& layers, const FoldedFactors& factors) const {
  layers.resize(shapes_.size());
  for (std::size_t l = 0; l < shapes_.size(); ++l) take_layer(layers[l], l, factors);
}

std::vector<Layer> NetworkLayers::model_layers(const FoldedFactors& factors) const {
  std::vector<Layer> layers;
  for (std::size_t l = 0; l < shapes_.size(); ++l) {
    if (precision_.has_levels()) {
      layers.push_back(level_layer(l, factors));
      continue;
    }
    Layer layer;
    take_layer(layer, l, factors);
    layers.push_back({layer.aggregation, layer.precision, layer.neighbor.to(Device{}), layer.root.to(Device{})});
  }
  return layers;
}

void NetworkLayers::take_layer(Layer& layer, std::size_t l, const FoldedFactors& factors) const {
  layer.aggregation = shapes_[l].aggregation;
  layer.precision = forms(true)[l];
  if (shapes_[l].norm) {
    fold_norm(layer.neighbor, l);
  } else {
    take_linear(layer.neighbor, outcome(neighbor_[l].weight), neighbor_[l].bias);
  }
  if (shapes_[l].root) take_linear(layer.root, outcome(root_[l].weight), root_[l].bias);
  if (l == 0 && factors.center != nullptr) {
    take_center_off(layer.neighbor, *factors.center, signs_);
    if (shapes_[l].root) take_center_off(layer.root, *factors.center, signs_);
  }
  if (l == 0 && real()) scale(layer.neighbor.floats(), factors.features);
  if (is_sum(shapes_[l].aggregation)) fold_sum(layer, factors.sum);
  if (!is_last(l) || factors.readout == 1) return;
  fold_readout(layer.neighbor, factors.readout);
  if (shapes_[l].root) fold_readout(layer.root, factors.readout);
}

/// A batch norm multiplies each output by a factor, which the weights take over, and adds a shift, which is the bias.
void NetworkLayers::fold_norm(Linear& linear, std::size_t l) const {
  const Floats& scale = outcome(norm_[l]);
  const std::span<const float> mean = outcome(norm_[l] + 1).values(), variance = outcome(norm_[l] + 2).values();
  folded_.resize(shapes_.size());
  Folded& folded = folded_[l];
  reshape(folded.zeros, 1, scale.ncols(), device_);
  reshape(folded.factor, 1, scale.ncols(), device_);
  batch_norm_into(folded.factor, scale, {std::as_const(folded.zeros).values(), variance, {}, {}});
  assign(folded.weight, outcome(neighbor_[l].weight), device_);
  scale_rows(folded.weight, std::as_const(folded.factor).values());
  take_linear(linear, folded.weight, -1);
  Floats& shift = folded.factor;  // no longer wanted
  batch_norm_into(shift, folded.zeros, {mean, variance, scale.values(), outcome(neighbor_[l].bias).values()});
  Device::copy(linear.bias.data(), device_, shift.values().data(), device_, shift.bytes());
}

void NetworkLayers::take_linear(Linear& linear, const Floats& weight, int bias_place) const {
  if (real()) {
    assign(linear.floats(), weight, device_);
  } else {
    if (!linear.binary()) linear.weight.emplace<Binarized>();
    reshape(linear.signs(), weight.nrows(), weight.ncols(), device_);
    binarize_into(linear.signs(), weight);
  }
  reshape(linear.bias, weight.nrows(), device_);
  if (bias_place < 0) return linear.bias.fill(0);
  const Floats& bias = outcome(bias_place);
  Device::copy(linear.bias.data(), device_, bias.values().data(), device_, bias.bytes());
}

/// Training divides sums over neighbours: the model does so by its weights. A vote does not change by it.
void NetworkLayers::fold_sum(Layer& layer, float factor) const {
  if (real()) return scale(layer.neighbor.floats(), factor);
  scale(layer.neighbor.signs().alpha, factor);
  scale(layer.neighbor.bias, factor);
}

/// The same of sums over the nodes of a graph. Biases are added behind these.
void NetworkLayers::fold_readout(Linear& linear, float factor) const {
  if (real()) return scale(linear.floats(), factor);
  scale(linear.signs().alpha, factor);
}

Layer NetworkLayers::level_layer(std::size_t l, const FoldedFactors& factors) const {
  Layer layer{.aggregation = shapes_[l].aggregation, .precision = forms(true)[l]};
  const float of_sum = is_sum(shapes_[l].aggregation) ? factors.sum : 1.0F;
  const float of_features = l == 0 ? factors.features : 1.0F;
  const float of_readout = is_last(l) ? factors.readout : 1.0F;
  layer.neighbor = level_linear(neighbor_[l], layer.precision.weight, of_sum * of_features * of_readout);
  layer.root = level_linear(root_[l], layer.precision.weight, of_readout);
  if (inputs_[l] >= 0) layer.input_scale = without_zero_offsets(scale_of(inputs_[l], ScaleExtent::tensor, 1));
  if (messages_[l] >= 0)
    layer.message_scale = without_zero_offsets(scale_of(messages_[l], ScaleExtent::column, of_sum * of_readout));
  return layer;
}

/// The weights' levels in training; `factor` is what the model multiplies the weights by.
Linear NetworkLayers::level_linear(const LinearPlaces& at, const NumberFormat& format, float factor) const {
  if (at.weight < 0) return {};
  Floats weight = outcome(at.weight).to(Device());
  Linear linear;
  linear.bias = Buffer<float>(weight.nrows(), 0.0F);
  if (at.bias >= 0) linear.bias = Buffer<float>::copy_of(outcome(at.bias).to(Device()).values());
  if (format.kind == NumberKind::levels) {
    QuantizedMatrix levels(weight.nrows(), weight.ncols(), format.bits);
    levels.set_scale(scale_of(at.scale, format.scale, 1));
    quantize_into(levels, weight);
    levels.set_scale(scale_of(at.scale, format.scale, factor));
    linear.weight = std::move(levels);
  } else {
    scale(weight, factor);
    linear.weight = std::move(weight);
  }
  return linear;
}

/// On the host, with the same bits as in training.
LevelScale NetworkLayers::scale_of(int scale, ScaleExtent extent, float factor) const {
  const Floats& learned = outcome(scale);
  Floats made(2, learned.ncols(), device_);
  learned_scale_into(made, learned);
  const Floats here = made.to(Device());
  const auto row = [&](std::size_t i) {
    Buffer<float> values = Buffer<float>::copy_of(here.row(i));
    for (float& value : values) value *= factor;
    return values;
  };
  return {extent, row(0), row(1)};
}

}  // namespace bitgraph::nn
