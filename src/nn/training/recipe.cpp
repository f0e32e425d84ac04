// SPDX-License-Identifier: Apache-2.0
#include "nn/training/recipe.hpp"

#include <bitgraph/ops/batch_norm.hpp>

#include "nn/model/architectures.hpp"
#include "nn/training/sample_from.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace bitgraph::nn {

namespace {

/// The entries of one row of sparse features.
std::span<const float> row_values(const SparseFeatures& features, NodeId node) {
  const auto& row_ptr = features.pattern.row_ptr();
  return features.values.span().subspan(row_ptr[node], row_ptr[node + std::size_t{1}] - row_ptr[node]);
}

}  // namespace

DataFacts measure_facts(const Dataset& dataset) {
  DataFacts facts{.dense = dataset.has_dense_features()};
  std::set<std::int32_t> classes;
  double squares = 0;
  std::size_t rows = 0;
  for (const auto* samples : {&dataset.train, &dataset.validation}) {
    for (const NodeId sample : *samples) {
      if (dataset.labels[sample] >= 0) classes.insert(dataset.labels[sample]);
    }
    for (const NodeId node : dataset.nodes_of(*samples)) {
      const auto row =
          facts.dense ? std::as_const(dataset.dense_features).row(node) : row_values(dataset.features, node);
      double sum = 0, row_squares = 0;
      for (const float value : row) {
        sum += value;
        row_squares += static_cast<double>(value) * value;
        facts.negative |= value < 0;
      }
      if (sum > 0) squares += row_squares / (sum * sum), ++rows;
    }
  }
  facts.classes = classes.size();
  if (dataset.num_graphs() != 0) facts.graphs = dataset.train.size();
  if (!facts.dense && !facts.negative && rows != 0) facts.row_length = std::sqrt(squares / static_cast<double>(rows));
  return facts;
}

Recipe choose_recipe(const TrainOptions& options, const DataFacts& facts) {
  const ArchitectureTraits& traits = traits_of(options.architecture);
  const bool sampled = traits.sampled();
  const bool few_labels = !sampled && facts.graphs == 0;  // over one whole graph: the teacher has a word on all nodes
  const bool counts = !facts.dense && !facts.negative;
  Recipe recipe;
  if (!options.precision.multiplies_signs()) {
    recipe.normalize_rows = counts;
    // Rows of sum 1 are the shorter the more features a node has. Of one length, they need the same number of epochs
    // and the same decay for all data.
    if (!sampled && facts.row_length > 0) recipe.feature_scale = static_cast<float>(1 / facts.row_length);
    // Batch norms make accuracy swing from step to step. A model that training starts from has them in its weights.
    recipe.average = is_normalized(traits) && options.start == nullptr;
    if (options.precision.has_levels() && few_labels) recipe.divergence_weight = 4;
    return recipe;
  }
  recipe.presence = counts;
  recipe.center = true;
  // Votes over dense features are learned better without the two.
  const bool fits = options.precision == Precision::full || !facts.dense;
  recipe.even_scales = fits;
  recipe.teacher_weights = fits;
  if (few_labels) recipe.divergence_weight = 4;
  // Not of votes: signs of an average vote otherwise than the weights that were trained.
  recipe.average = options.precision == Precision::full;
  return recipe;
}

bool judged_by_accuracy(const TrainOptions& options) {
  if (options.precision.has_levels()) return true;
  if (!options.precision.multiplies_signs()) return options.partition != nullptr;
  return traits_of(options.architecture).sampled() || !options.precision.votes();
}

std::string describe(const Recipe& recipe, const TrainOptions& options, const DataFacts& facts, const DataSize& size) {
  const char* kind = facts.dense ? "dense" : facts.negative ? "of both signs" : "sparse and not negative";
  std::string text;
  if (!options.precision.multiplies_signs()) {
    text =
        fmt::format("features are {}: {}", kind, recipe.normalize_rows ? "rows divided by their sums" : "as they are");
    if (recipe.feature_scale != 1) text += fmt::format(", times {:.3g} for a mean length of 1", recipe.feature_scale);
    if (options.precision.has_levels())
      text += options.teacher != nullptr ? "; levels, from the given teacher's weights"
                                         : "; levels, from the weights of a float teacher that is trained first";
    else if (options.teacher != nullptr)
      text += "; the given teacher";
    else if (options.self_distillation)
      text += "; trained twice, the second time with the first as its teacher";
  } else {
    text = fmt::format("features are {}: signs of {}{}", kind, recipe.presence ? "presence" : "batch norm",
                       recipe.center ? ", less their mean" : "");
    if (recipe.even_scales) text += "; a constant unit";
    text += options.teacher != nullptr ? "; the given teacher" : "; a float teacher, trained first";
    if (options.teacher == nullptr && !traits_of(options.architecture).sampled() && facts.graphs == 0)
      text += " (twice, as by --self-distillation)";
    if (recipe.teacher_weights) text += ", and its weights";
  }
  if (recipe.average) text += "; averaged weights";
  if (options.partition != nullptr)
    text += fmt::format("; {} of {} parts a step", *options.batch_parts, options.partition->num_parts());
  if (facts.graphs != 0) text += fmt::format("; {} graphs, {} a step", facts.graphs, *options.batch_size);
  text += fmt::format("; {} epochs", *options.epochs);
  if (*options.patience != 0) text += fmt::format(" at most, patience {}", *options.patience);
  text += fmt::format(", rate {:g}, decay {:g}, dropout {:g}", *options.learning_rate, *options.weight_decay,
                      *options.dropout);
  const double weights = weights_of_label(options, size);
  if (weights < enough_weights_of_label) text += fmt::format(" ({:.2g} weights a label)", weights);
  const std::string samples = describe_samples(options, size);
  return samples.empty() ? text : text + "; " + samples;
}

FeatureMap sign_map(const Dataset& dataset, const Recipe& recipe) {
  if (recipe.presence) return presence_map(dataset.features, dataset.num_features());
  ColumnStatistics statistics = dataset.has_dense_features()
                                    ? column_statistics(dataset.dense_features)
                                    : column_statistics(dataset.features.pattern, dataset.features.values.span());
  Buffer<float> scale = inverse_deviation(statistics.variance.span());
  return {std::move(statistics.mean), std::move(scale)};
}

}  // namespace bitgraph::nn
