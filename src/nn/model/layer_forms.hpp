// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/precision.hpp>

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

namespace bitgraph::nn {

/// Whether nothing divides what is added up.
[[nodiscard]] constexpr bool is_sum(Aggregation aggregation) noexcept {
  return aggregation == Aggregation::sum || aggregation == Aggregation::sum_with_self;
}

/// Whether what it makes grows with the number of neighbours: like it, like its root, or, behind D^-1/2, less.
[[nodiscard]] constexpr bool grows_with_degree(Aggregation aggregation) noexcept {
  return is_sum(aggregation) || aggregation == Aggregation::symmetric;
}

/// How steps by degree grow in a model of these layers, or of a program's operators.
template <class Layers>
[[nodiscard]] DegreeRoot degree_root_of(const Layers& layers) {
  const auto sums = [](const auto& layer) { return is_sum(layer.aggregation); };
  return std::any_of(std::begin(layers), std::end(layers), sums) ? DegreeRoot::square : DegreeRoot::fourth;
}

/// The forms of the layers that a model in `form` is trained in, which aggregate so: the output of the last one is
/// logits, and levels behind what grows with the number of neighbours have steps by degree. Signs have no scales behind
/// plain sums; behind those of gin where they are summed again; and, of a form that does not vote, behind means.
[[nodiscard]] std::vector<Precision> forms_of_layers(const Precision& form, std::span<const Aggregation> layers);

/// The same of shapes, or of a model's layers.
template <class Layers>
[[nodiscard]] std::vector<Precision> forms_of(const Precision& form, const Layers& layers) {
  std::vector<Aggregation> aggregations;
  aggregations.reserve(layers.size());
  for (const auto& layer : layers) aggregations.push_back(layer.aggregation);
  return forms_of_layers(form, aggregations);
}

}  // namespace bitgraph::nn
