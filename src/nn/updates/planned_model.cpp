// SPDX-License-Identifier: Apache-2.0
#include "nn/updates/planned_model.hpp"

#include "core/names.hpp"
#include "nn/model/feature_rules.hpp"
#include "nn/program/layers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bitgraph::nn {

namespace {

template <class... Args>
[[noreturn]] void refuse_model(ErrorCode code, fmt::format_string<Args...> what, Args&&... args) {
  fail(code, "set_weights: " + fmt::format(what, std::forward<Args>(args)...));
}

constexpr Names<Aggregation, 6> aggregations{{{Aggregation::none, "none"},
                                              {Aggregation::symmetric, "symmetric"},
                                              {Aggregation::mean_with_self, "mean with self"},
                                              {Aggregation::mean, "mean"},
                                              {Aggregation::sum, "sum"},
                                              {Aggregation::sum_with_self, "sum with self"}}};

std::string sizes_of(const Linear& linear) {
  return linear.empty() ? "none" : fmt::format("{} x {}", linear.outputs(), linear.inputs());
}

bool same_values(const Buffer<float>& a, const Buffer<float>& b) { return std::ranges::equal(a, b); }

}  // namespace

PlannedModel::PlannedModel(const Model& model, const Precision& features, bool dense)
    : in_signs_(features.multiplies_signs()), dense_(dense), program_(program_of(model)) {
  header_.readout = model.readout;
  copy_feature_rules(header_, model);
  for (const Layer& layer : model.layers) layers_.push_back(facts_of(layer));
}

PlannedModel::Facts PlannedModel::facts_of(const Layer& layer) {
  return {{{"precision", to_string(layer.precision)},
           {"aggregation", std::string(name_of(aggregations, layer.aggregation))},
           {"weights", sizes_of(layer.neighbor)},
           {"weights for the node itself", sizes_of(layer.root)},
           {"steps of inputs", std::to_string(layer.input_scale.steps.size())},
           {"steps of messages", std::to_string(layer.message_scale.steps.size())}}};
}

void PlannedModel::require_same_layers(const Model& other) const {
  other.validate();
  if (other.readout != header_.readout)
    refuse_model(ErrorCode::usage, "the model classifies {}, the plan's {}", other.readout ? "graphs" : "nodes",
                 header_.readout ? "graphs" : "nodes");
  if (other.layers.size() != layers_.size())
    refuse_model(ErrorCode::usage, "the model has {} layers, the plan's has {}", other.layers.size(), layers_.size());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Facts found = facts_of(other.layers[l]);
    for (std::size_t n = 0; n < found.size(); ++n) {
      if (found[n] != layers_[l][n])
        refuse_model(ErrorCode::usage, "layer {} has {} {}, the plan's has {}", l, found[n].first, found[n].second,
                     layers_[l][n].second);
    }
  }
  if (other.thresholds != header_.thresholds)
    refuse_model(ErrorCode::usage, "signs of each feature: the model takes {}, the plan's {}", other.thresholds,
                 header_.thresholds);
  const Program program = program_of(other);
  if (program.operators != program_.operators || program.result != program_.result)
    refuse_model(ErrorCode::usage, "the layers are alike, but the model has other operators between them");
}

void PlannedModel::require_same_features(const Model& other) const {
  if (other.normalize_rows != header_.normalize_rows)
    refuse_model(ErrorCode::not_possible,
                 "the model takes features {}, the plan has them {}: give the features, too, or make a new plan",
                 other.normalize_rows ? "divided by their sums" : "as they are",
                 header_.normalize_rows ? "divided by their sums" : "as they are");
  const bool alike = same_values(other.input_mean, header_.input_mean) &&
                     same_values(other.input_inverse_deviation, header_.input_inverse_deviation) &&
                     other.input_limit == header_.input_limit;
  if (!alike)
    refuse_model(ErrorCode::not_possible,
                 "the model takes features by another mean, deviation or limit, the plan has {}: give the features, "
                 "too, or make a new plan",
                 in_signs_ ? "their signs alone" : "them by its own");
}

void PlannedModel::require_dense_where_needed(const Model& other) const {
  if (needs_dense_features(other) && !dense_)
    refuse_model(ErrorCode::not_possible,
                 "the model takes features less their means, the plan was made of sparse ones");
}

void PlannedModel::see_features_as(const Model& other) { copy_feature_rules(header_, other); }

}  // namespace bitgraph::nn
