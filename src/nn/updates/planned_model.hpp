// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/program.hpp>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bitgraph::nn {

/// What a plan keeps of its model besides weights: what another one must be like to take its place.
class PlannedModel {
 public:
  /// `features`: the form in which the plan has its features (form_of_features()). `dense`: so they are given.
  PlannedModel(const Model& model, const Precision& features, bool dense);

  /// Throws bad_input where a model is not valid; usage naming what it has other than the plan: layers, their
  /// precisions, aggregations, shapes and steps, operators, or signs of each feature.
  void require_same_layers(const Model& other) const;

  /// Throws not_possible where a model sees features in another way: the plan has only what its own made of them.
  void require_same_features(const Model& other) const;

  /// Throws not_possible where the plan was made of sparse features, and a model needs dense ones.
  void require_dense_where_needed(const Model& other) const;

  /// The plan's features were made anew, as another model sees them.
  void see_features_as(const Model& other);

 private:
  /// A property of a layer by its name, as text.
  using Facts = std::array<std::pair<std::string_view, std::string>, 6>;
  [[nodiscard]] static Facts facts_of(const Layer& layer);

  Model header_;  ///< what is done to features; no layers
  bool in_signs_, dense_;
  std::vector<Facts> layers_;
  Program program_;  ///< in floats
};

}  // namespace bitgraph::nn
