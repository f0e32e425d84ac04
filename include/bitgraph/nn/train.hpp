// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/model.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

namespace bitgraph::nn {

/// Hyper-parameters. Those left empty take the recipe of the precision and architecture: preset().
struct TrainOptions {
  Precision precision = Precision::full;
  Architecture architecture = Architecture::gcn;
  std::size_t hidden = 64;
  std::size_t depth = 2;  ///< layers that aggregate
  std::optional<std::size_t> epochs;
  std::optional<float> learning_rate;
  std::optional<float> weight_decay;
  std::optional<float> dropout;
  std::uint64_t seed = 0;
  std::filesystem::path checkpoint;    ///< empty: none is written
  std::size_t checkpoint_every = 100;  ///< epochs
};

/// The recipe of a precision, all fields set.
///   real: Kipf and Welling 2017: Adam 1e-2, decay 5e-4 on the first layer, dropout 0.5, 200 epochs.
///   full: Bi-GCN (Wang et al. 2021): Adam 1e-3, decay 5e-4, dropout 0.4, 1000 epochs.
///   bin:  as full, with the votes in the loop; docs/performance.md says what was tried.
[[nodiscard]] TrainOptions preset(TrainOptions options);

/// What a finished epoch had.
struct EpochReport {
  std::size_t epoch = 0;  ///< counted from 1
  std::size_t epochs = 0;
  double train_loss = 0;
  double validation_loss = 0;
  double validation_accuracy = 0;
};

struct TrainResult {
  Model model;
  std::size_t best_epoch = 0;
  double validation_loss = 0;
  double seconds_per_epoch = 0;  ///< median, validation included
};

/// Trains a two-layer GCN and returns the weights of the epoch with the least validation loss.
///
/// Gradients of the binary layers are those of Bi-GCN: through sign(x) where |x| <= 1, the scales held constant; see
/// docs/architecture.md. With a checkpoint file the state is written every `checkpoint_every` epochs, whole or not at
/// all, and a run that finds one goes on from it and ends with the same bits; a checkpoint of another run is an error
/// (bad_input). The result depends on data set, options and, through the order of float sums, the device's number of
/// threads. Throws usage or bad_input: no training or validation nodes, impossible hyper-parameters.
[[nodiscard]] TrainResult train(const Dataset& dataset, const TrainOptions& options, const Device& device = {},
                                const std::function<void(const EpochReport&)>& progress = {});

}  // namespace bitgraph::nn
