// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/model.hpp>
#include <bitgraph/ops/binarize.hpp>

#include "core/fingerprint.hpp"
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

}  // namespace

NumberFormat Linear::format() const noexcept {
  return binary() ? Precision::full.weight : format_of(std::get<DenseMatrix<float>>(weight));
}

DenseMatrix<float>& Linear::floats() { return held<DenseMatrix<float>>(*this); }
const DenseMatrix<float>& Linear::floats() const { return held<DenseMatrix<float>>(*this); }
Binarized& Linear::signs() { return held<Binarized>(*this); }
const Binarized& Linear::signs() const { return held<Binarized>(*this); }

std::size_t Linear::bytes() const noexcept {
  return bias.bytes() + (binary() ? signs().bits.bytes() + signs().alpha.bytes() : floats().bytes());
}

Linear Linear::to(const Device& device) const {
  if (!binary()) return {floats().to(device), bias.to(device)};
  return {Binarized{signs().bits.to(device), signs().alpha.to(device)}, bias.to(device)};
}

std::size_t Model::bytes() const noexcept {
  std::size_t total = input_mean.bytes() + input_inverse_deviation.bytes();
  for (const Layer& layer : layers) total += layer.neighbor.bytes() + layer.root.bytes();
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
  if (form.multiplies_signs() != precision.multiplies_signs()) {
    fail(ErrorCode::usage,
         fmt::format("a model of precision {} has no form {}", to_string(precision), to_string(form)));
  }
  std::vector<Precision> forms(layers.size(), form);
  forms.back() = form.of_last_layer();
  return forms;
}

void Model::require_fit(const Dataset& data) const {
  validate();
  data.validate();
  if (data.num_features() != num_features()) {
    fail(ErrorCode::bad_input, fmt::format("the model takes {} features, the data set {} has {}", num_features(),
                                           data.name, data.num_features()));
  }
  if (data.num_classes != 0 && static_cast<std::size_t>(data.num_classes) != num_classes()) {
    fail(ErrorCode::bad_input,
         fmt::format("the model knows {} classes, the data set {} has {}", num_classes(), data.name, data.num_classes));
  }
}

std::string Model::fingerprint() const {
  Fingerprint print;
  for (const Layer& layer : layers) {
    for (const Linear* linear : {&layer.neighbor, &layer.root}) {
      const bool binary = linear->binary();
      print.add(binary ? std::span<const float>() : linear->floats().values());
      print.add(linear->bias.span());
      if (!binary) continue;
      print.add(linear->signs().bits.words());
      print.add(linear->signs().alpha.span());
    }
  }
  if (!input_mean.empty()) {
    print.add(input_mean.span());
    print.add(input_inverse_deviation.span());
  }
  if (network) {
    const std::string program = program_of(*this).fingerprint();
    print.add(std::span<const char>(program));
  }
  return fmt::format("{} {} {}", network ? "own" : to_string(architecture), layers.size(), print.text());
}

}  // namespace bitgraph::nn
