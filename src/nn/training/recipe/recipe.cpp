// SPDX-License-Identifier: Apache-2.0
#include "nn/training/recipe/recipe.hpp"

#include "nn/model/architectures.hpp"
#include "nn/training/recipe/feature_maps.hpp"
#include "nn/training/recipe/sample_from.hpp"

#include <fmt/format.h>

#include <string>

namespace bitgraph::nn {

namespace {

/// Whether a row's sum means something: words of a node, and how often, in one unit.
bool are_counts(const DataFacts& facts) { return !facts.dense && !facts.negative && !facts.uneven; }

/// Rows of sum 1 are the shorter the more features a node has. Of one length, they need the same number of epochs and
/// the same decay for all data. Other rows have a length that serves, or they get one.
float scale_of_rows(const DataFacts& facts, bool sampled) {
  constexpr double shortest = 1, longest = 25, usual = 4;
  const bool counts = are_counts(facts);
  if (facts.row_length == 0 || (counts && sampled)) return 1;
  if (counts) return static_cast<float>(1 / facts.row_length);
  const bool serves = facts.row_length >= shortest && facts.row_length <= longest;
  return serves ? 1 : static_cast<float>(usual / facts.row_length);
}

}  // namespace

Recipe choose_recipe(const TrainOptions& options, const DataFacts& facts) {
  const ArchitectureTraits& traits = traits_of(options.architecture);
  const bool sampled = traits.sampled();
  const bool few_labels = !sampled && facts.graphs == 0;  // over one whole graph: the teacher has a word on all nodes
  Recipe recipe;
  recipe.standardize = facts.uneven && (!options.precision.multiplies_signs() || !facts.dense);
  recipe.medians = facts.long_tails;
  if (!options.precision.multiplies_signs()) {
    recipe.normalize_rows = are_counts(facts);
    if (options.start != nullptr) {
      recipe.standardize = !options.start->input_mean.empty();
      recipe.medians = options.start->input_limit != 0;
    }
    // A model to start from may take features otherwise: then they have not the length that was measured.
    if (recipe.standardize == facts.uneven) recipe.feature_scale = scale_of_rows(facts, sampled);
    // Batch norms make accuracy swing from step to step. A model that training starts from has them in its weights.
    recipe.average = is_normalized(traits) && options.start == nullptr;
    if (options.precision.has_levels() && few_labels) recipe.divergence_weight = 4;
    return recipe;
  }
  recipe.presence = !facts.dense && !facts.negative;
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
    text = fmt::format("features are {}", kind);
    if (recipe.normalize_rows) {
      text += ": rows divided by their sums";
    } else if (!recipe.standardize) {
      text += ": as they are";
    } else if (recipe.medians) {
      text += fmt::format(", with long tails: each less its median, in deviations of most values, {:g} at most",
                          typical_limit);
    } else if (facts.dense) {
      text += ", in units of their own or far from 0: each less its mean and divided by its deviation";
    } else {
      text += ", in units of their own: each divided by its size";
    }
    if (recipe.feature_scale != 1)
      text += fmt::format(", times {:.3g} for a mean length of {:.3g}", recipe.feature_scale,
                          recipe.feature_scale * facts.row_length);
    if (options.precision.has_levels())
      text += options.teacher != nullptr ? "; levels, from the given teacher's weights"
                                         : "; levels, from the weights of a float teacher that is trained first";
    else if (options.teacher != nullptr)
      text += "; the given teacher";
    else if (options.self_distillation)
      text += "; trained twice, the second time with the first as its teacher";
  } else {
    const char* signs = recipe.medians       ? "medians, since they have long tails"
                        : !recipe.presence   ? "batch norm"
                        : recipe.standardize ? "presence, and batch norm where most nodes have the feature"
                                             : "presence";
    text = fmt::format("features are {}: signs of {}{}", kind, signs, recipe.center ? ", less their mean" : "");
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

}  // namespace bitgraph::nn
