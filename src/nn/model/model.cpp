// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/model.hpp>
#include <bitgraph/ops/binarize.hpp>

#include "core/fingerprint.hpp"
#include "nn/model/feature_rules.hpp"
#include "nn/program/layers.hpp"

#include <fmt/format.h>

#include <span>
#include <string>
#include <utility>

namespace bitgraph::nn {

namespace {

/// The weights as a T, or an error that says what they are.
template <class T, class L>
auto& held(L& linear) {
  auto* const weight = std::get_if<T>(&linear.weight);
  if (weight == nullptr) fail(ErrorCode::usage, "the layer's weights are in " + to_string(linear.format()));
  return *weight;
}

const DenseMatrix<float>& matrix_of(const DenseMatrix<float>& weight) { return weight; }
const BitMatrix<PlusMinusOne>& matrix_of(const Binarized& weight) { return weight.bits; }
const QuantizedMatrix& matrix_of(const QuantizedMatrix& weight) { return weight; }

void add_to(Fingerprint& print, const LevelScale& scale) {
  print.add(scale.steps.span());
  print.add(scale.offsets.span());
}

void add_to(Fingerprint& print, const Linear& linear) {
  print.add(!linear.binary() && !linear.in_levels() ? linear.floats().values() : std::span<const float>());
  print.add(linear.bias.span());
  if (linear.binary()) {
    print.add(linear.signs().bits.words());
    print.add(linear.signs().alpha.span());
  }
  if (linear.in_levels()) {
    print.add(linear.levels().levels().span());
    add_to(print, linear.levels().scale());
  }
}

}  // namespace

NumberFormat Linear::format() const noexcept {
  if (binary()) return Precision::full.weight;
  if (in_levels()) return std::get<QuantizedMatrix>(weight).format();
  return format_of(std::get<DenseMatrix<float>>(weight));
}

std::size_t Linear::inputs() const noexcept {
  return std::visit([](const auto& w) { return matrix_of(w).ncols(); }, weight);
}
std::size_t Linear::outputs() const noexcept {
  return std::visit([](const auto& w) { return matrix_of(w).nrows(); }, weight);
}

DenseMatrix<float>& Linear::floats() { return held<DenseMatrix<float>>(*this); }
const DenseMatrix<float>& Linear::floats() const { return held<DenseMatrix<float>>(*this); }
Binarized& Linear::signs() { return held<Binarized>(*this); }
const Binarized& Linear::signs() const { return held<Binarized>(*this); }
QuantizedMatrix& Linear::levels() { return held<QuantizedMatrix>(*this); }
const QuantizedMatrix& Linear::levels() const { return held<QuantizedMatrix>(*this); }

std::size_t Linear::bytes() const noexcept {
  const std::size_t scales = binary() ? std::get<Binarized>(weight).alpha.bytes() : 0;
  return bias.bytes() + scales + std::visit([](const auto& w) { return matrix_of(w).bytes(); }, weight);
}

Linear Linear::to(const Device& device) const {
  if (binary()) return {Binarized{signs().bits.to(device), signs().alpha.to(device)}, bias.to(device)};
  if (in_levels()) return {levels().to(device), bias.to(device)};
  return {floats().to(device), bias.to(device)};
}

std::size_t Model::bytes() const noexcept {
  std::size_t total = input_mean.bytes() + input_inverse_deviation.bytes();
  for (const Layer& l : layers)
    total += l.neighbor.bytes() + l.root.bytes() + l.input_scale.bytes() + l.message_scale.bytes();
  return total;
}

Linear make_linear(DenseMatrix<float> weight, Buffer<float> bias, bool binary) {
  Linear linear;
  linear.bias = std::move(bias);
  if (binary) {
    linear.weight = binarize(weight);
  } else {
    linear.weight = std::move(weight);
  }
  return linear;
}

std::vector<Precision> Model::layer_forms(Precision form) const {
  if (has_levels()) {
    std::vector<Precision> own;
    for (const Layer& layer : layers) own.push_back(layer.precision);
    if (form != precision)
      fail(ErrorCode::usage, fmt::format("a model of precision {} has no form {}: it runs in its own alone",
                                         to_string(precision), to_string(form)));
    return own;
  }
  if (form.has_levels() || form.multiplies_signs() != precision.multiplies_signs()) {
    fail(ErrorCode::usage,
         fmt::format("a model of precision {} has no form {}", to_string(precision), to_string(form)));
  }
  std::vector<Precision> forms(layers.size(), form);
  if (!forms.empty()) forms.back() = form.of_last_layer();
  return forms;
}

void Model::require_fit(const Dataset& data) const {
  validate();
  data.validate();
  if (data.num_features() != num_features()) {
    fail(ErrorCode::bad_input, fmt::format("the model takes {} features, the data set {} has {}", num_features(),
                                           data.name, data.num_features()));
  }
  if (needs_dense_features(*this) && !data.has_dense_features()) {
    fail(ErrorCode::bad_input,
         fmt::format("the model takes features less their means, for which they must be dense; those of the data set "
                     "{} are sparse",
                     data.name));
  }
  if (readout != (data.num_graphs() != 0)) {
    fail(ErrorCode::bad_input,
         fmt::format("the model classifies {}, the data set {} has {}", readout ? "graphs" : "nodes", data.name,
                     readout ? "one graph" : fmt::format("{} graphs", data.num_graphs())));
  }
  if (data.num_classes != 0 && static_cast<std::size_t>(data.num_classes) != num_classes()) {
    fail(ErrorCode::bad_input,
         fmt::format("the model knows {} classes, the data set {} has {}", num_classes(), data.name, data.num_classes));
  }
}

std::string Model::fingerprint() const {
  Fingerprint print;
  for (const Layer& layer : layers) {
    add_to(print, layer.neighbor);
    add_to(print, layer.root);
    if (!layer.precision.has_levels()) continue;
    add_to(print, layer.input_scale);
    add_to(print, layer.message_scale);
  }
  if (!input_mean.empty()) {
    print.add(input_mean.span());
    print.add(input_inverse_deviation.span());
  }
  if (input_limit != 0) print.add(std::span<const float>(&input_limit, 1));
  if (thresholds != 1) print.add(std::span<const std::size_t>(&thresholds, 1));
  const bool own = network || layer_builder != nullptr;
  if (own) {
    const std::string program = program_of(*this).fingerprint();
    print.add(std::span<const char>(program));
  }
  return fmt::format("{} {} {}", own ? "own" : to_string(architecture), layers.size(), print.text());
}

}  // namespace bitgraph::nn
