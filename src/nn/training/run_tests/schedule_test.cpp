// SPDX-License-Identifier: Apache-2.0
// The learning rate from epoch to epoch: what each schedule says, and that the steps of training follow it.
#include "nn/training/trainer.hpp"
#include "support/planted_data.hpp"
#include "support/temporary_folder.hpp"

#include <bitgraph/io/array.hpp>
#include <bitgraph/nn/train.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace bitgraph::nn {
namespace {

TEST(Schedule, IsTheTable) {
  struct Row {
    Schedule schedule;
    std::vector<float> rates;  ///< of four epochs, from a rate of 8
  };
  for (const Row& row : {Row{Schedule::constant, {8, 8, 8, 8}}, Row{Schedule::linear, {8, 6, 4, 2}},
                         Row{Schedule::cosine, {8, 6.8284271F, 4, 1.1715729F}}}) {
    for (std::size_t epoch = 1; epoch <= 4; ++epoch)
      EXPECT_FLOAT_EQ(scheduled_rate(row.schedule, 8, epoch, 4), row.rates[epoch - 1]) << to_string(row.schedule);
  }
}

std::vector<float> first_weights(const DenseMatrix<float>& values) {
  const DenseMatrix<float> here = values.to(Device{});
  return {here.values().begin(), here.values().end()};
}

/// Those that train() has at its end, and those of as many epochs at the rates of the schedule.
TEST(Schedule, IsFollowedByTheStepsOfTraining) {
  const Dataset dataset = test::planted_data({});
  std::vector<std::vector<float>> all;
  for (const Schedule schedule : {Schedule::constant, Schedule::linear, Schedule::cosine}) {
    const test::TemporaryFolder folder(test::folder_in_memory());
    TrainOptions options{.precision = Precision::real, .hidden = 6, .epochs = 5, .learning_rate = 0.05F};
    options.schedule = schedule;
    const auto trainer = make_trainer(dataset, preset(options, size_of(dataset)), Device::host(1), {});
    for (std::size_t epoch = 1; epoch <= 5; ++epoch)
      trainer->train_epoch(epoch, scheduled_rate(schedule, 0.05F, epoch, 5));
    all.push_back(first_weights(trainer->parameters()[0].value));
    options.checkpoint = folder / "state";
    (void)train(dataset, options, Device::host(1));
    const TensorFile state = load_safetensors(options.checkpoint);
    const Buffer<float> values = state.tensors.at(trainer->parameters()[0].name + ".value").as<float>();
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()), all.back()) << to_string(schedule);
  }
  EXPECT_NE(all[0], all[1]);
  EXPECT_NE(all[1], all[2]);
}

}  // namespace
}  // namespace bitgraph::nn
