// SPDX-License-Identifier: Apache-2.0
// Where a trainer's batches come from: the whole graph, again and again, or samples of it.
#pragma once

#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/train.hpp>

#include "nn/sampling/training_batch.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace bitgraph::nn {

class TrainingSource {
 public:
  TrainingSource() = default;
  TrainingSource(const TrainingSource&) = delete;
  TrainingSource& operator=(const TrainingSource&) = delete;
  virtual ~TrainingSource() = default;

  /// What is taken off each input row of a binary model in training: the mean over all nodes of the features' signs
  /// times their scales, 1 x features. Empty: nothing is.
  [[nodiscard]] virtual const DenseMatrix<float>& center() const noexcept = 0;

  /// In an epoch; the same in every one.
  [[nodiscard]] virtual std::size_t batches() const noexcept = 0;

  /// Batch `n` of an epoch (they count from 1), a function of these two and the seed alone. It stays until the next
  /// call.
  virtual const TrainingBatch& batch(std::size_t epoch, std::size_t n) = 0;

  /// Whether all batches are one, in the same memory.
  [[nodiscard]] virtual bool same_batch() const noexcept { return false; }
};

/// What sums over neighbours are multiplied by in training: one over the mean degree. They are then about as large as
/// what a node gives itself, and steps of one size fit all weights; the trained model has the factor in its weights.
[[nodiscard]] float sum_factor(const CsrPattern& graph);

/// The same of all sums.
struct SumFactors {
  float neighbors = 1;  ///< sum_factor()
  float readout = 1;    ///< of sums over the nodes of a graph: one over their mean number

  [[nodiscard]] static SumFactors of(const Dataset& dataset);
};

/// The whole graph in one batch, and of its rows those that the samples `counted` depend on, whatever the architecture
/// is trained with. The data set need not stay.
[[nodiscard]] std::unique_ptr<TrainingSource> make_whole_graph_source(
    const Dataset& dataset, std::span<const NodeId> counted, const TrainOptions& options, const Model& metadata,
    float feature_scale, const SumFactors& factors, const Device& device, DenseMatrix<float> teacher = {});

/// Batches over a data set of which everything may be seen. Of many graphs they are some of these
/// (parts/graph_batches.hpp). A partition among the options is of its graph, and has no empty part. `metadata` says how
/// the model sees features, which of a float gcn are then multiplied by `feature_scale`; `teacher` has the
/// probabilities of all nodes, on the host, or is 0 x 0. Samples are drawn ahead by so many `threads` of the host.
/// Where it is not said, a CUDA device draws neighbours itself (cuda/device_batches.hpp), some threads draw ahead what
/// it does not, and the host draws for itself when a batch is asked for. The batches are the same. The data set stays
/// where it is.
[[nodiscard]] std::unique_ptr<TrainingSource> make_training_source(const Dataset& dataset, const TrainOptions& options,
                                                                   const Model& metadata, float feature_scale,
                                                                   DenseMatrix<float> teacher, const Device& device,
                                                                   std::optional<std::size_t> threads = {});

/// Random walks of a sample: those asked for, but of a small graph fewer, so that an epoch has at least two samples.
[[nodiscard]] std::size_t walk_roots_for(const TrainOptions& options, std::size_t num_nodes);

}  // namespace bitgraph::nn
