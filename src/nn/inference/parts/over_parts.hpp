// SPDX-License-Identifier: Apache-2.0
// Runs a model's program over the parts of a partition, a batch of them at a time.
//
// A batch is the subgraph of its parts: each node of the graph is in one batch, and edges to other batches are left out
// (QGTC, section 4.1). What is held is the weights, one batch with its features and values, and the logits of all
// nodes. Every run makes the batches anew from the data set. All run one program, which passes have chosen by the sizes
// of all batches together: the logits are the bits of a plan over the graph that the batches make, side by side; those
// of floats but for rounding, since the order in which BLAS adds depends on the number of rows.
#pragma once

#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/part_batches.hpp>

#include "nn/inference/forward.hpp"
#include "nn/inference/graph_operands.hpp"
#include "nn/inference/input_features.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace bitgraph::nn {

class InferencePlan::OverParts {
 public:
  /// The forms of the options are checked, and they have a partition. The data set must outlive it. Throws as
  /// InferencePlan.
  OverParts(const Model& model, const Dataset& dataset, const InferenceOptions& options, const Device& device);
  OverParts(const OverParts&) = delete;
  OverParts& operator=(const OverParts&) = delete;

  const DenseMatrix<float>& run();

  [[nodiscard]] NodeId num_nodes() const noexcept { return dataset_.graph.nrows(); }
  [[nodiscard]] std::size_t num_batches() const noexcept { return batches_.num_batches(); }
  [[nodiscard]] InferenceBytes bytes() const noexcept { return bytes_; }
  [[nodiscard]] const PredictedMemory& predicted() const noexcept { return predicted_; }
  [[nodiscard]] std::string feature_format() const { return features_->format(); }
  /// Of the largest batch.
  [[nodiscard]] std::vector<ExplainedOperator> explain(std::size_t repeats);
  [[nodiscard]] const Program& program() const noexcept { return forward_->program(); }

 private:
  /// Where each node is in the order of all batches; finds the largest batch too.
  [[nodiscard]] std::vector<NodeId> find_places();
  /// In the place of the one before; false: it has no nodes.
  [[nodiscard]] bool make_batch(std::size_t batch);
  void keep_logits(const DenseMatrix<float>& logits);

  const Dataset& dataset_;
  InferenceOptions options_;
  Device device_;
  Model metadata_;  ///< how the model sees features
  Precision form_;  ///< of the features
  PredictedMemory predicted_;
  PartBatches batches_;
  SubgraphSample sample_;
  std::optional<GraphOperands> graph_;
  std::optional<InputFeatures> features_;  ///< in one place: operators know it
  std::optional<Forward> forward_;
  DenseMatrix<float> logits_;
  DenseMatrix<float> by_batches_;  ///< on a CUDA device: the logits in the order in which batches have their nodes
  Buffer<NodeId> place_;           ///< the same: where each node's logits are among them
  std::size_t largest_ = 0;        ///< batch, by its nodes
  std::size_t first_ = 0;          ///< the same: where the next batch's are
  InferenceBytes bytes_;
};

/// The batches of a plan over parts. Throws usage for options that do not go with a partition, bad_input for one of
/// another graph.
[[nodiscard]] PartBatches inference_batches(const Dataset& dataset, const InferenceOptions& options,
                                            const Device& device);

/// How features are held: in a way that does not depend on the nodes of a batch.
[[nodiscard]] InferenceOptions options_of_batches(const InferenceOptions& options, const Model& model);

/// What passes know of all batches: the sizes of the graph that they make, side by side.
[[nodiscard]] GraphFacts facts_of_batches(PartBatches& batches);

}  // namespace bitgraph::nn
