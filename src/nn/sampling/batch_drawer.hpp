// SPDX-License-Identifier: Apache-2.0
// What is made of a batch on the host, whatever the device.
#pragma once

#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/train.hpp>

#include "core/array_pack.hpp"
#include "nn/model/architectures.hpp"
#include "nn/sampling/training_batch.hpp"

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

/// `host` has the threads that draw. The data set stays where it is.
[[nodiscard]] std::unique_ptr<BatchDrawer> make_batch_drawer(const Dataset& dataset, const TrainOptions& options,
                                                             const std::vector<LayerShape>& shapes, const Device& host);

}  // namespace bitgraph::nn
