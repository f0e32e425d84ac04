// SPDX-License-Identifier: Apache-2.0
// What is made of a batch on the host, whatever the device, and where a step finds it.
#pragma once

#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/train.hpp>

#include "core/memory/array_pack.hpp"
#include "core/threads/parallel.hpp"
#include "nn/model/architectures.hpp"
#include "nn/sampling/training_batch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bitgraph::nn {

/// All but the features.
struct DrawnBatch {
  ArrayPack arrays;
  std::vector<LayerPlaces> layers;   ///< one a layer that aggregates, or one for all of them
  ArrayPack::Place<NodeId> nodes;    ///< inputs of the first layer, targets first
  ArrayPack::Place<NodeId> counted;  ///< as in TrainingBatch, and so are the others
  ArrayPack::Place<std::int32_t> labels;
  ArrayPack::Place<float> loss_weight;
};

/// Draws batches. Each is a function of epoch, number and the seed.
class BatchDrawer {
 public:
  BatchDrawer() = default;
  BatchDrawer(const BatchDrawer&) = delete;
  BatchDrawer& operator=(const BatchDrawer&) = delete;
  virtual ~BatchDrawer() = default;

  /// In an epoch.
  [[nodiscard]] virtual std::size_t batches() const noexcept = 0;
  /// Memory of `out` stays from batch to batch.
  virtual void draw(DrawnBatch& out, std::size_t epoch, std::size_t n) = 0;
  /// One of the same batches for a thread of its own.
  [[nodiscard]] virtual std::unique_ptr<BatchDrawer> twin() const = 0;
};

/// The training nodes in an order of each epoch's own, cut into batches.
class BatchOrder {
 public:
  /// `nodes` stay where they are. A batch has about `batch_size` of them.
  BatchOrder(std::span<const NodeId> nodes, std::size_t batch_size, std::uint64_t seed)
      : nodes_(nodes), batch_size_(std::min(batch_size, nodes.size())), seed_(seed) {}

  [[nodiscard]] std::size_t batches() const noexcept { return (nodes_.size() + batch_size_ - 1) / batch_size_; }

  /// Where batch n of an epoch is in its order. Parts of nearly one size: a last batch of a few nodes would count as
  /// much as the others.
  [[nodiscard]] Range batch(std::size_t n) const noexcept {
    return {nodes_.size() * n / batches(), nodes_.size() * (n + 1) / batches()};
  }

  /// Nodes of the largest batch.
  [[nodiscard]] std::size_t largest_batch() const noexcept { return (nodes_.size() + batches() - 1) / batches(); }

  /// The order of an epoch, which stays until that of another is asked for. O(nodes) then, on one thread.
  std::span<const NodeId> of_epoch(std::size_t epoch);

 private:
  std::span<const NodeId> nodes_;
  std::size_t batch_size_;
  std::uint64_t seed_;
  std::vector<NodeId> order_;
  std::size_t shuffled_epoch_ = 0;  ///< they count from 1
};

/// A batch where a step reads it: all but the features.
struct PlacedBatch {
  std::vector<std::shared_ptr<const LayerGraph>> graphs;  ///< one a layer that aggregates, or one for all of them
  Buffer<NodeId> nodes;                                   ///< inputs of the first layer, targets first
  Buffer<NodeId> counted;                                 ///< as in TrainingBatch, and so are the others
  Buffer<std::int32_t> labels;
  Buffer<float> loss_weight;
};

/// Batches on the device of a training.
class BatchQueue {
 public:
  BatchQueue() = default;
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;
  virtual ~BatchQueue() = default;

  /// In an epoch.
  [[nodiscard]] virtual std::size_t batches() const noexcept = 0;
  /// Batch `n` of an epoch, which count from 1. Quick where it is the one behind that of the call before. Its arrays
  /// stay until the next call; work that the device was asked for before that call reads them still.
  virtual PlacedBatch get(std::size_t epoch, std::size_t n) = 0;
};

/// `host` has the threads that draw. The data set stays where it is.
[[nodiscard]] std::unique_ptr<BatchDrawer> make_batch_drawer(const Dataset& dataset, const TrainOptions& options,
                                                             const std::vector<LayerShape>& shapes, const Device& host);

}  // namespace bitgraph::nn
