// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nn/trainer.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace bitgraph::nn {

/// Where a training run stands, beside the parameters. Random numbers need no state: they are counted by epoch.
struct TrainState {
  std::size_t epoch = 0;  ///< finished epochs
  std::size_t best_epoch = 0;
  double best_loss = 0, best_accuracy = 0;
  std::vector<DenseMatrix<float>> best;  ///< what a model was given of the parameters at best_epoch
};

/// The file that one run keeps its state in.
class Checkpoint {
 public:
  /// Reads all of the data set once: what it says of the run tells it from every other.
  Checkpoint(std::filesystem::path path, const Dataset& dataset, const TrainOptions& options);

  /// Writes all of it to one safetensors file, whole or not at all.
  void save(const std::vector<Parameter>& parameters, const TrainState& state) const;

  /// Reads it back into the parameters. Throws bad_input for a file that is damaged, or of a run with another data
  /// set, split, seed or hyper-parameters, and for one that has come further than `epochs`.
  [[nodiscard]] TrainState load(std::vector<Parameter>& parameters, std::size_t epochs) const;

 private:
  std::filesystem::path path_;
  std::map<std::string, std::string> identity_;  ///< what must be equal for one run to go on from another's state
};

}  // namespace bitgraph::nn
