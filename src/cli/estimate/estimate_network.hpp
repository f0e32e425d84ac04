// SPDX-License-Identifier: Apache-2.0
// The steps of commands on networks, for --estimate.
#pragma once

#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/nn/tune.hpp>

#include "cli/estimate/estimate.hpp"

#include <span>
#include <string>
#include <vector>

namespace bitgraph::cli {

/// Loading a data set and running a model on it, `runs` times in each form. Throws as dataset_size_of(), and bad_input
/// where the model does not fit the features.
[[nodiscard]] Estimate estimate_runs(const nn::Model& model, const std::string& dataset,
                                     const std::vector<nn::Precision>& forms, std::size_t runs, const Common& common);

/// Tuning some models on one data set. Throws as estimate_runs().
[[nodiscard]] Estimate estimate_tuning(std::span<const nn::Model> models, const std::string& dataset,
                                       const nn::TuneOptions& options, const Common& common);

/// Training; where it learns from a teacher that is not given, the teacher's too. Throws as dataset_size_of().
[[nodiscard]] Estimate estimate_training(const nn::TrainOptions& options, const std::string& dataset,
                                         bool teacher_given, const Common& common);

}  // namespace bitgraph::cli
