// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/plan.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace bitgraph::nn {

struct TuneOptions {
  double seconds = 90;       ///< no further candidate is begun behind that
  std::size_t repeats = 30;  ///< most runs of a candidate that are timed
  double max_loss = 0.01;    ///< share of validation nodes that the choice may lose against the best candidate
};

/// One way to run a model, measured.
struct TuneCandidate {
  std::size_t model = 0;  ///< which of the models that were given
  InferenceOptions options;
  double validation_accuracy = 0;
  double microseconds = 0;     ///< median of its runs
  std::size_t peak_bytes = 0;  ///< of its plan
  bool on_front = false;       ///< no other is at least as good in accuracy, time and memory, and better in one
};

struct TuneReport {
  std::vector<TuneCandidate> candidates;  ///< the first is the default: the first model's own forms, all else automatic
  std::size_t chosen = 0;                 ///< the quickest within max_loss; the default where nothing is quicker
  double seconds = 0;
  bool complete = false;  ///< false: the time ran out before the search was done
};

/// Searches the precision form of each layer first, then, for the forms that are on the front of accuracy and time,
/// those within max_loss before the others, the format of the graph and the product's strategy, features in full or as
/// differences, the order of the nodes, the sequence of update and aggregation and, on a CUDA device, the launching:
/// one after the other, each kept where it is quicker (BitGNN, section 3.4). Every candidate runs on the caller's graph
/// and device. Forms that do not fit one another, a format that the device has not, or a plan that its memory does not
/// hold are passed over. Throws bad_input where the data set has no validation nodes or does not fit the model.
[[nodiscard]] TuneReport tune(const Model& model, const Dataset& dataset, const TuneOptions& options = {},
                              const Device& device = {},
                              const std::function<void(const TuneCandidate&)>& progress = {});

/// The same over several models that were trained for one task, such as one in each form: their candidates are judged
/// together, each model as it was trained first. Throws usage where there is none.
[[nodiscard]] TuneReport tune(std::span<const Model> models, const Dataset& dataset, const TuneOptions& options = {},
                              const Device& device = {},
                              const std::function<void(const TuneCandidate&)>& progress = {});

}  // namespace bitgraph::nn
