// SPDX-License-Identifier: Apache-2.0
// What training chooses for a data set, in one place: from options and measured facts to a recipe. docs/notebook has
// what was tried.
#pragma once

#include <bitgraph/nn/train.hpp>

#include "nn/training/recipe/facts.hpp"

#include <cstddef>
#include <string>

namespace bitgraph::nn {

/// How a network is trained, beside the numbers of TrainOptions.
struct Recipe {
  bool normalize_rows = false;   ///< float: features of a node are divided by their sum,
  float feature_scale = 1;       ///< and in training multiplied by this. The model has it in its weights
  bool standardize = false;      ///< float: features by standard_map(); signs of presence: of common ones, batch norm's
  bool medians = false;          ///< dense features: by typical_map(), of float models within typical_limit
  bool presence = false;         ///< binary: signs say which features a node has; else they are batch norm's
  bool center = false;           ///< binary: the mean row is taken off the first layer's input
  bool even_scales = false;      ///< binary: one hidden unit is constant and large, see NetworkTrainer::even_out_scales
  bool teacher_weights = false;  ///< binary: latent weights start from the teacher's
  bool average = false;          ///< the average of the last weights is judged and returned
  float divergence_weight = 1;   ///< of the divergence from a teacher, beside the labels' cross entropy
};

/// The same rules for training over a whole graph and over samples of it.
[[nodiscard]] Recipe choose_recipe(const TrainOptions& options, const DataFacts& facts);

/// How many weights a model has for each label that it is trained with; infinite where the size does not tell.
[[nodiscard]] double weights_of_label(const TrainOptions& options, const DataSize& size);
/// With fewer, dropout falls in proportion.
inline constexpr double enough_weights_of_label = 4;

/// How the best epoch is found: by the accuracy on validation nodes, or by the loss. Binary logits are so coarse that
/// the loss rises with a few nodes that they are sure of and wrong. Of a full gcn it falls, rises and falls again. Of a
/// bin gcn, whose splits have few validation nodes, it tells more than accuracies do. Of float over parts accuracies
/// tell more: it is as sure over the whole graph, where more edges may show otherwise.
[[nodiscard]] bool judged_by_accuracy(const TrainOptions& options);

/// "signs of presence, less their mean, since features are sparse and not negative; ...": what was chosen, and why.
/// Options are complete.
[[nodiscard]] std::string describe(const Recipe& recipe, const TrainOptions& options, const DataFacts& facts,
                                   const DataSize& size);

}  // namespace bitgraph::nn
