// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/partition.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/plan.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace bitgraph::nn {

struct TuneOptions {
  double seconds = 90;       ///< no further candidate is begun behind that
  std::size_t repeats = 30;  ///< most runs of a candidate that are timed
  double max_loss = 0.01;    ///< share of validation nodes that the choice may lose against the best candidate

  /// Bits that the numbers of quantized candidates may have, the most first: see search_bits(). Empty: there are no
  /// quantized candidates.
  std::vector<int> bits = {8, 4, 2};

  /// Bytes that a candidate may hold; 0: as many as it likes. A candidate whose prediction is larger is not run.
  std::size_t memory = 0;

  /// Parts of the data set's graph. Null: no candidate takes the graph in batches of parts.
  const Partition* partition = nullptr;

  /// How many of them are in a batch, of one candidate each. Empty: half of the parts, a quarter of them and so on, the
  /// four largest batches that fit into `memory`.
  std::vector<std::size_t> batch_parts = {};
};

/// One way to run a model, measured.
struct TuneCandidate {
  std::size_t model = 0;                 ///< which of the models that were given
  std::optional<std::size_t> quantized;  ///< its place in TuneReport::quantized, made of that model; none: as it is
  InferenceOptions options;
  double validation_accuracy = 0;
  double microseconds = 0;          ///< median of its runs
  std::size_t peak_bytes = 0;       ///< of its plan
  std::size_t predicted_bytes = 0;  ///< the same, before it was made
  std::size_t row_parts = 1;        ///< into which the rows of the graph are split to stay within TuneOptions::memory
  std::size_t batches = 1;          ///< of parts
  bool on_front = false;            ///< no other is at least as good in accuracy, time and memory, and better in one
};

struct TuneReport {
  std::vector<TuneCandidate> candidates;  ///< the default first, where it fits into the memory
  std::vector<Model> quantized;           ///< what became of float models
  std::size_t chosen = 0;                 ///< the quickest within max_loss; the default where nothing is quicker
  double seconds = 0;
  bool has_default = false;  ///< the first candidate is the first model in its own forms, and all else is automatic
  bool complete = false;     ///< false: the time ran out before the search was done

  /// The model that a candidate runs, of those that were given to tune().
  [[nodiscard]] const Model& model_of(const TuneCandidate& candidate, std::span<const Model> models) const {
    return candidate.quantized ? quantized[*candidate.quantized] : models[candidate.model];
  }
};

/// Searches what a model is made of first: the precision form of each layer of a binary one, the bits of each layer of
/// a float one. The latter takes no more than half of the time that is left; its calibration uses no labels, and its
/// choices those of the validation nodes. Then, for what is on the front of accuracy and time, that within max_loss
/// before the rest: the number of parts in a batch where there is a partition, and the format of the graph and the
/// product's strategy, features in full or as differences, the order of the nodes, the sequence of update and
/// aggregation and, on a CUDA device, fusion, the launching and planes or bytes of levels, one after the other, each
/// kept where it is quicker (BitGNN, section 3.4).
///
/// Every candidate runs on the caller's graph and device. Forms that do not fit one another, a format that the device
/// has not, an order together with parts, or a plan that the memory does not hold are passed over. Quantizing needs all
/// values of the float model at once, on the host, whatever `memory` says. Throws bad_input where the data set has no
/// validation nodes or does not fit the model, or the partition is of another graph; not_possible where no candidate
/// fits into the memory.
[[nodiscard]] TuneReport tune(const Model& model, const Dataset& dataset, const TuneOptions& options = {},
                              const Device& device = {},
                              const std::function<void(const TuneCandidate&)>& progress = {});

/// The same over several models that were trained for one task, such as one in each form: their candidates are judged
/// together, each model as it was trained first. Throws usage where there is none.
[[nodiscard]] TuneReport tune(std::span<const Model> models, const Dataset& dataset, const TuneOptions& options = {},
                              const Device& device = {},
                              const std::function<void(const TuneCandidate&)>& progress = {});

}  // namespace bitgraph::nn
