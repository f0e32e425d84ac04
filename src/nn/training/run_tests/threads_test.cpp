// SPDX-License-Identifier: Apache-2.0
// Threads change no bit of training. Losses, gradients and statistics are sums over nodes, and the graph here has more
// nodes than a part of such a sum: with several threads each adds up parts of its own. OpenBLAS cuts sums otherwise for
// several threads than for one: the float products here are so small that it takes one.
#include "nn/model/architectures.hpp"
#include "nn/training/trainer.hpp"
#include "ops/row_parts.hpp"
#include "support/everywhere.hpp"
#include "support/planted_data.hpp"

#include <bitgraph/formats/partition.hpp>
#include <bitgraph/nn/train.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::FeatureKind;

/// What two epochs leave behind.
struct Trace {
  std::vector<double> losses;  ///< of training and of validation, epoch after epoch
  std::vector<std::string> names;
  std::vector<DenseMatrix<float>> arrays;  ///< of each parameter its value, gradient and moments, and its average
};

Trace trace_of(const Dataset& dataset, const TrainOptions& options, const Device& device) {
  const auto trainer = make_trainer(dataset, preset(options, size_of(dataset)), device, {});
  Trace trace;
  for (std::size_t epoch = 1; epoch <= 2; ++epoch) {
    trainer->train_epoch(epoch, 0.02F);
    trainer->judge();
    trace.losses.push_back(trainer->train_loss());
    trace.losses.push_back(trainer->validation().loss);
  }
  for (const Parameter& parameter : trainer->parameters()) {
    for (const auto* array : {&parameter.value, &parameter.gradient, &parameter.first_moment, &parameter.second_moment,
                              &parameter.average}) {
      trace.names.push_back(parameter.name);
      trace.arrays.push_back(array->clone());
    }
  }
  return trace;
}

void expect_same_bits(const Dataset& dataset, const TrainOptions& options) {
  SCOPED_TRACE(std::string(to_string(options.architecture)) + " " + to_string(options.precision) +
               (options.partition == nullptr ? "" : " over parts"));
  const Trace expected = trace_of(dataset, options, Device::host(1));
  test::with_thread_counts([&](const Device& device) {
    if (device.threads() == 1) return;
    const Trace actual = trace_of(dataset, options, device);
    EXPECT_EQ(actual.losses, expected.losses);
    ASSERT_EQ(actual.names, expected.names);
    for (std::size_t n = 0; n < expected.arrays.size(); ++n) {
      SCOPED_TRACE(expected.names[n]);
      test::expect_identical(std::as_const(actual.arrays[n]).values(), std::as_const(expected.arrays[n]).values());
    }
  });
}

/// Every architecture and form, over features of this kind.
void expect_same_bits_of_all(FeatureKind kind) {
  constexpr std::size_t nodes = 700;
  const Dataset dataset =
      test::planted_data({.nodes = nodes, .features = 10, .kind = kind, .train = nodes / 2, .validation = nodes / 3});
  ASSERT_GT(RowParts(dataset.train.size()).count, 2U);
  ASSERT_GT(RowParts(dataset.validation.size()).count, 1U);
  std::vector<NodeId> part_of;
  for (NodeId i = 0; i < nodes; ++i) part_of.push_back(i * 7 % 6);
  const Partition partition(std::move(part_of), 6);
  for (const Architecture architecture : all_architectures()) {
    for (const Precision& precision :
         {Precision::real, Precision::full, Precision::bin, Precision::of_levels(4, 4, 4)}) {
      TrainOptions options{.precision = precision,
                           .architecture = architecture,
                           .hidden = 16,
                           .epochs = 2,
                           .batch_size = 200,
                           .fan_outs = {6, 4}};
      expect_same_bits(dataset, options);
      options.partition = &partition;
      options.batch_parts = 3;
      expect_same_bits(dataset, options);
    }
  }
}

TEST(TrainingThreads, ChangeNoBitOverSparseFeatures) { expect_same_bits_of_all(FeatureKind::counts); }

TEST(TrainingThreads, ChangeNoBitOverDenseFeatures) { expect_same_bits_of_all(FeatureKind::dense); }

}  // namespace
}  // namespace bitgraph::nn
