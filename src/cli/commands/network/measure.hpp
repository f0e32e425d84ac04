// SPDX-License-Identifier: Apache-2.0
// Running a model's forms and reporting accuracy, latency and memory: what train and infer share.
#pragma once

#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/infer.hpp>

#include "cli/command.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace bitgraph::cli {

struct MeasureOptions {
  std::size_t repeats = 200;
  nn::InferenceOptions plan;  ///< where it names forms of layers they are taken for the model's own form
  /// Called with each form's plan once it is measured, and the form's part of the result.
  std::function<void(nn::InferencePlan&, Json&)> look = {};
};

/// Which split of a data set is used.
struct SplitChoice {
  int seed = -1;
  std::vector<double> shares;  ///< training, validation, test; empty: so many nodes of each class
};

/// Adds --split-seed and --split-shares; `otherwise` says which split is taken without them.
void add_split(CLI::App& app, SplitChoice& split, const std::string& otherwise);

/// Throws where load_for_training will find nothing to load: better told before long work than in the middle.
void require_data(const std::string& name);

/// Throws usage, naming --batch-parts, where a batch has more parts than there are.
void require_batch_parts(std::size_t of_batch, std::size_t parts);

/// Loads a data set, or makes one (planted:NAME, with seed 0). Its split is the one that is asked for; else the one
/// that the first of `models` was trained with, where the data set still has it; else the file's, or, where the file
/// has none, one that is drawn with seed 0: of many graphs 0.8, 0.1 and 0.1 of each class. Adds to `result`
///   read_seconds          what reading it took, or making it
///   split                 {"kind", "seed", "per_class" or "shares", "from": "option", "model", "file" or "default"}
/// and, where there are models,
///   trained_nodes_tested  how many validation and test nodes or graphs one of them was trained with; null: not known
///   same_data             whether all of them were trained on this graph, features and labels; null: not known
[[nodiscard]] Dataset load_for_training(const std::string& name, const SplitChoice& split, const Device& device,
                                        std::span<const nn::Model* const> models, Json& result);

/// Warns on stderr where a model is tested on nodes that it was trained with, or on other data.
void warn_of_training_data(const Json& result, const Dataset& dataset);

/// "graphs" or "nodes": what the data set has classes for.
[[nodiscard]] const char* samples_of(const Dataset& dataset);

/// Adds dataset, num_nodes and, of many graphs, num_graphs.
void put_sizes(Json& result, const Dataset& dataset);

/// "split: shares 0.8, 0.1, 0.1, seed 3 (the model's)".
[[nodiscard]] std::string split_line(const Json& result);

/// Adds --normalize-rows.
void add_normalize_rows(CLI::App& app, bool& normalize_rows);

/// Loads a model; with `normalize_rows`, one that divides the features of a node by their sum, whatever its file says.
[[nodiscard]] nn::Model load_model(const std::string& file, bool normalize_rows);

/// Prints "warning: ..." on stderr.
void warn(const std::string& what);

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
