// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/io/array.hpp>

#include "nn/training/trainer.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bitgraph::nn {

/// Where a training run stands, beside the parameters. Random numbers need no state: they are counted by epoch.
struct TrainState {
  std::size_t epoch = 0;  ///< finished epochs
  std::size_t best_epoch = 0;
  double best_loss = 0, best_accuracy = 0;
  std::vector<DenseMatrix<float>> best;  ///< what a model was given of the parameters at best_epoch

  /// Whether an epoch with these validation results is better than the best so far: one of less loss; where
  /// judged_by_accuracy(), one of more accuracy, and of equal accuracy of less loss.
  [[nodiscard]] bool improves(const Score& validation, const TrainOptions& options) const;
};

/// The file that one run keeps its state in.
class Checkpoint {
 public:
  /// Reads all of the data set once: what it says of the run tells it from every other. Throws bad_input where the file
  /// is there and not a checkpoint, or of a run with another data set, split, seed or hyper-parameters.
  Checkpoint(std::filesystem::path path, const Dataset& dataset, const TrainOptions& options);

  /// Writes all of it to one safetensors file, whole or not at all.
  void save(const std::vector<Parameter>& parameters, const TrainState& state) const;

  /// What the file held when this was made, into the parameters; none where there was no file. Throws bad_input for one
  /// that is damaged, or has come further than `epochs`. To be called once.
  [[nodiscard]] std::optional<TrainState> load(std::vector<Parameter>& parameters, std::size_t epochs);

 private:
  [[noreturn]] void refuse(const std::string& what) const;
  [[nodiscard]] const std::string& text(const std::string& key) const;
  [[nodiscard]] std::uint64_t number(const std::string& key) const;

  std::filesystem::path path_;
  std::map<std::string, std::string> identity_;  ///< what must be equal for one run to go on from another's state
  std::optional<TensorFile> found_;              ///< until it is loaded
};

}  // namespace bitgraph::nn
