// SPDX-License-Identifier: Apache-2.0
// A run of train() whose tensors are set before an epoch and read after it, through its checkpoint file
// (docs/formats.md): tests that use it know nothing of the trainers.
#pragma once

#include "support/double_matrix.hpp"
#include "support/temporary_folder.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/io/array.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/train.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::test {

/// A trained tensor, weights as outputs x inputs.
struct RunTensor {
  std::string name;
  DoubleMatrix value, first_moment, second_moment;
  DoubleMatrix average;  ///< empty: not kept
};

class TrainingRun {
 public:
  /// Options are complete and name no checkpoint. Their teacher and the data set must stay. Trains the first epoch.
  TrainingRun(const Dataset& dataset, nn::TrainOptions options) : dataset_(dataset), options_(std::move(options)) {
    options_.checkpoint = folder_ / "state";
    options_.checkpoint_every = 1;
    go_on_until(1);
    take_tensors();
  }

  /// Of each layer weight and bias of its neighbours, then of the node itself, then scale, mean and variance of its
  /// batch norm.
  std::vector<RunTensor> tensors;

  /// Trains one epoch, which is not the first, from `tensors` to `tensors`.
  nn::EpochReport train_epoch(std::size_t epoch) {
    for (RunTensor& tensor : tensors) exchange(tensor, true);
    file_.metadata["epoch"] = std::to_string(epoch - 1);
    file_.metadata["best_epoch"] = "1";  // and worse than the one to come
    file_.metadata["best_loss_bits"] = std::to_string(std::bit_cast<std::uint64_t>(1e300));
    file_.metadata["best_accuracy_bits"] = std::to_string(std::bit_cast<std::uint64_t>(-1.0));
    save_safetensors(options_.checkpoint, file_);
    const nn::EpochReport report = go_on_until(epoch);
    for (RunTensor& tensor : tensors) exchange(tensor, false);
    return report;
  }

  /// What train() returned after the last of all epochs.
  [[nodiscard]] const nn::TrainResult& result() const { return *result_; }

 private:
  nn::EpochReport go_on_until(std::size_t epoch) {
    std::stop_source stop;
    nn::EpochReport last;
    const auto look = [&](const nn::EpochReport& report) {
      last = report;
      if (report.epoch == epoch) stop.request_stop();
    };
    try {
      result_ = nn::train(dataset_, options_, Device::host(2).with_stop(stop.get_token()), look);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::stopped) throw;
    }
    file_ = load_safetensors(options_.checkpoint);
    EXPECT_EQ(file_.metadata["epoch"], std::to_string(epoch));
    return last;
  }

  void take_tensors() {
    for (std::size_t l = 0; l < 2 * options_.depth + 1; ++l) {
      for (const char* map : {".neighbor", ".root", ".norm"}) {
        for (const char* part : {".weight", ".bias", ".scale", ".mean", ".variance"}) {
          const std::string name = "layer" + std::to_string(l) + map + part;
          if (file_.tensors.count(name + ".value") == 0) continue;
          tensors.push_back({.name = name});
          exchange(tensors.back(), false);
        }
      }
    }
  }

  void exchange(RunTensor& tensor, bool to_file) {
    exchange(tensor.name + ".value", tensor.value, to_file);
    exchange(tensor.name + ".first_moment", tensor.first_moment, to_file);
    exchange(tensor.name + ".second_moment", tensor.second_moment, to_file);
    if (file_.tensors.count(tensor.name + ".average") != 0) exchange(tensor.name + ".average", tensor.average, to_file);
  }

  void exchange(const std::string& name, DoubleMatrix& matrix, bool to_file) {
    Array& array = file_.tensors.at(name);
    if (to_file) {
      const std::vector<float> values(matrix.values.begin(), matrix.values.end());
      array.data = Buffer<std::byte>::copy_of(std::as_bytes(std::span(values)));
      return;
    }
    const Buffer<float> values = array.as<float>();
    matrix = DoubleMatrix(array.shape[0], array.shape[1]);
    matrix.values.assign(values.begin(), values.end());
  }

  TemporaryFolder folder_{folder_in_memory()};
  const Dataset& dataset_;
  nn::TrainOptions options_;
  TensorFile file_;
  std::optional<nn::TrainResult> result_;
};

}  // namespace bitgraph::test
