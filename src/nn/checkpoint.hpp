// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nn/trainer.hpp"

namespace bitgraph::nn {

/// Where a training run stands, beside the parameters. Random numbers need no state: they are counted by epoch.
struct TrainState {
  std::size_t epoch = 0;  ///< finished epochs
  std::size_t best_epoch = 0;
  double best_loss = 0;
  std::vector<DenseMatrix<float>> best;  ///< values of the parameters at best_epoch
};

/// Writes all of it to one safetensors file, whole or not at all.
void save_checkpoint(const std::filesystem::path& path, const Dataset& dataset, const TrainOptions& options,
                     const std::vector<Parameter>& parameters, const TrainState& state);

/// Reads it back into the parameters. Throws bad_input for a file that is damaged, or of a run with another data set,
/// seed or hyper-parameters.
[[nodiscard]] TrainState load_checkpoint(const std::filesystem::path& path, const Dataset& dataset,
                                         const TrainOptions& options, std::vector<Parameter>& parameters);

}  // namespace bitgraph::nn
