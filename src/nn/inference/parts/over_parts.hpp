// SPDX-License-Identifier: Apache-2.0
// Runs a model's program over the parts of a partition, a batch of them at a time.
//
// A batch is the subgraph of its parts: each node of the graph is in one batch, and edges to other batches are left out
// (QGTC, section 4.1). All batches run one program, which passes have chosen by the sizes of all batches together. So
// the logits are the bits of a plan over the graph that the batches make, side by side; those of floats but for
// rounding, since the order in which BLAS adds depends on the number of rows.
//
// On the host a plan holds the weights, one batch with its features and values, and the logits of all nodes. Every run
// makes the batches anew from the data set (host_parts.cpp). A plan on a CUDA device makes them once: they stay there
// (staying_parts.hpp), or are packed for the way there (packed_parts.hpp).
#pragma once

#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/part_batches.hpp>

#include "nn/program/operators.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace bitgraph::nn {

class OverParts {
 public:
  OverParts(const OverParts&) = delete;
  OverParts& operator=(const OverParts&) = delete;
  virtual ~OverParts() = default;

  virtual const DenseMatrix<float>& run() = 0;

  /// As InferencePlan, of a model that is like the one that is there.
  virtual void set_weights(const Model& model) = 0;

  /// Of the largest batch, of the largest group of batches that reach a device together, or of all that stay there.
  [[nodiscard]] virtual std::vector<ExplainedOperator> explain(std::size_t repeats) = 0;

  [[nodiscard]] virtual const Program& program() const noexcept = 0;
  [[nodiscard]] virtual std::string feature_format() const = 0;
  /// As InferencePlan::executor().
  [[nodiscard]] virtual std::string executor() const = 0;

  [[nodiscard]] NodeId num_nodes() const noexcept { return num_nodes_; }
  [[nodiscard]] std::size_t num_batches() const noexcept { return num_batches_; }
  [[nodiscard]] InferenceBytes bytes() const noexcept { return bytes_; }
  [[nodiscard]] const PredictedMemory& predicted() const noexcept { return predicted_; }

 protected:
  OverParts(NodeId num_nodes, const PredictedMemory& predicted) : num_nodes_(num_nodes), predicted_(predicted) {}

  std::size_t num_batches_ = 0;
  InferenceBytes bytes_;

 private:
  NodeId num_nodes_;
  PredictedMemory predicted_;
};

/// The forms of the options are checked, and they have a partition. The data set must outlive it. Throws as
/// InferencePlan.
[[nodiscard]] std::unique_ptr<OverParts> make_over_parts(const Model& model, const Dataset& dataset,
                                                         const InferenceOptions& options, const Device& device);

/// The same where the batches are made anew in every run.
[[nodiscard]] std::unique_ptr<OverParts> make_host_parts(const Model& model, const Dataset& dataset,
                                                         const InferenceOptions& options, const Device& device);

/// The batches of a plan over parts. Throws usage for options that do not go with a partition, bad_input for one of
/// another graph.
[[nodiscard]] PartBatches inference_batches(const Dataset& dataset, const InferenceOptions& options,
                                            const Device& device);

/// How features are held: in a way that does not depend on the nodes of a batch.
[[nodiscard]] InferenceOptions options_of_batches(const InferenceOptions& options, const Model& model,
                                                  const Device& device);

/// What a batch needs to know of the model: how it sees features.
[[nodiscard]] Model metadata_of(const Model& model);

/// What passes know of all batches: the sizes of the graph that they make, side by side.
[[nodiscard]] GraphFacts facts_of_batches(PartBatches& batches);

}  // namespace bitgraph::nn
