// SPDX-License-Identifier: Apache-2.0
// Running a model's forms and reporting accuracy, latency and memory: what train and infer share.
#pragma once

#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/infer.hpp>

#include "cli/command.hpp"

#include <string>
#include <vector>

namespace bitgraph::cli {

struct MeasureOptions {
  std::size_t repeats = 200;
  nn::InferenceOptions plan;  ///< where it names forms of layers they are taken for the model's own form
};

/// Which split of a data set is used.
struct SplitChoice {
  int seed = -1;
  std::vector<double> shares;  ///< training, validation, test; empty: so many nodes of each class
};

/// Adds --split-seed and --split-shares.
void add_split(CLI::App& app, SplitChoice& split);

/// Throws where load_for_training will find nothing to load: better told before long work than in the middle.
void require_data(const std::string& name);

/// Loads a data set, or makes one (planted:NAME, with seed 0); draws a split where one is asked for, or with seed 0
/// where the file has none.
[[nodiscard]] Dataset load_for_training(const std::string& name, const SplitChoice& split, const Device& device);

/// The forms that a model can run in: its own one, or those asked for ("float", "full", "bin", "all"). Throws usage.
[[nodiscard]] std::vector<nn::Precision> forms_of(const nn::Model& model, const std::string& wanted);

/// Adds accuracy and latency_us of each form to `result`, forms with the rest of each, and val_accuracy and bytes of
/// the form that the model was trained for, where it runs. Returns the logits of the last form.
DenseMatrix<float> measure_forms(Json& result, const nn::Model& model, const Dataset& dataset,
                                 const std::vector<nn::Precision>& forms, const MeasureOptions& options,
                                 const Device& device);

/// The same as a table on stdout.
void print_forms(const Json& result);

}  // namespace bitgraph::cli
