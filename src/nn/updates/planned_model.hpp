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
  /// `features`: the form in which the plan has its features (form_of_features()).
  PlannedModel(const Model& model, const Precision& features);

  /// Throws bad_input where a model is not valid; usage naming what it has other than the plan: layers, their
  /// precisions, aggregations, shapes and steps, operators; not_possible where it sees features in another way, of
  /// which the plan has the result only.
  void require_like(const Model& other) const;

 private:
  /// A property of a layer by its name, as text.
  using Facts = std::array<std::pair<std::string_view, std::string>, 6>;
  [[nodiscard]] static Facts facts_of(const Layer& layer);
  void require_same_features(const Model& other) const;

  Model header_;  ///< what is done to features; no layers
  bool in_signs_;
  std::vector<Facts> layers_;
  Program program_;  ///< in floats
};

}  // namespace bitgraph::nn
