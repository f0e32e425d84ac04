// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/model.hpp>
#include <bitgraph/ops/binarize.hpp>

#include "core/fingerprint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace bitgraph::nn {

namespace {

constexpr std::array<std::pair<Architecture, std::string_view>, 4> architectures{
    {{Architecture::gcn, "gcn"},
     {Architecture::inductive_gcn, "inductive-gcn"},
     {Architecture::sage, "sage"},
     {Architecture::saint, "saint"}}};

template <class T, std::size_t N>
std::string_view name_of(const std::array<std::pair<T, std::string_view>, N>& names, T wanted) noexcept {
  for (const auto& [value, name] : names) {
    if (value == wanted) return name;
  }
  return "unknown";
}

Aggregation aggregation_of(Architecture architecture) {
  switch (architecture) {
    case Architecture::gcn: return Aggregation::symmetric;
    case Architecture::inductive_gcn: return Aggregation::mean_with_self;
    case Architecture::sage: return Aggregation::mean;
    case Architecture::saint: break;
  }
  return Aggregation::sum;
}

/// The weights as a T, or an error that says what they are.
template <class T, class L>
auto& held(L& linear) {
  auto* const weight = std::get_if<T>(&linear.weight);
  if (weight == nullptr) fail(ErrorCode::usage, "the layer's weights are in " + to_string(linear.format()));
  return *weight;
}

}  // namespace

std::string_view to_string(Architecture architecture) noexcept { return name_of(architectures, architecture); }

Architecture architecture_from_string(std::string_view name) {
  for (const auto& [value, text] : architectures) {
    if (text == name) return value;
  }
  fail(ErrorCode::usage, "unknown model '" + std::string(name) + "': use gcn, inductive-gcn, sage or saint");
}

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
  return fmt::format("{} {} {}", to_string(architecture), layers.size(), print.text());
}

std::vector<LayerShape> layer_shapes(Architecture architecture, std::size_t num_features, std::size_t hidden,
                                     std::size_t num_classes, std::size_t depth) {
  require(num_features > 0 && hidden > 0 && num_classes > 0, "a model's widths must be at least 1");
  require(depth > 0, "a model needs at least one layer");
  require(depth <= most_depth, "a model has at most 64 layers that aggregate");
  const bool saint = architecture == Architecture::saint;
  const bool root = saint || architecture == Architecture::sage;
  std::vector<LayerShape> shapes;
  for (std::size_t l = 0; l < depth; ++l) {
    const bool last = l + 1 == depth && !saint;
    shapes.push_back({aggregation_of(architecture), root, l == 0 ? num_features : hidden, last ? num_classes : hidden});
  }
  if (saint) shapes.push_back({Aggregation::none, false, depth * hidden, num_classes});
  return shapes;
}

}  // namespace bitgraph::nn
