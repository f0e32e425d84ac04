// SPDX-License-Identifier: Apache-2.0
// Training over a whole graph takes its memory in the first epochs, and from then on none.
#include "nn/model/architectures.hpp"
#include "support/cuda_device.hpp"
#include "support/planted_data.hpp"
#include "support/sanitized.hpp"

#include <bitgraph/nn/train.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace bitgraph::nn {
namespace {

/// Votes are in the loop from epoch 6 on, and the steps of levels are fitted in the first 5 epochs and in epoch 11.
constexpr std::size_t epochs = 10, epochs_that_may_allocate = 7;

/// What the device has allocated by the end of each epoch, of the model's own.
std::vector<std::size_t> allocations_by_epoch(const Dataset& data, const TrainOptions& options, const Device& device) {
  std::vector<std::size_t> counts;
  const auto note = [&](const EpochReport& report) {
    if (!report.of_teacher) counts.push_back(device.memory().allocations);
  };
  static_cast<void>(train(data, options, device, note));
  return counts;
}

void expect_no_allocations(const Device& device) {
  for (const test::FeatureKind kind : {test::FeatureKind::counts, test::FeatureKind::dense}) {
    const Dataset data = test::planted_data({.nodes = 150, .features = 30, .kind = kind});
    for (const Architecture architecture : {Architecture::gcn, Architecture::gin}) {
      if (test::sanitized && (architecture == Architecture::gcn) != (kind == test::FeatureKind::counts)) continue;
      for (const Precision& precision :
           {Precision::real, Precision::full, Precision::bin, Precision::of_levels(8, 8, 8)}) {
        SCOPED_TRACE(std::string(to_string(architecture)) + " " + to_string(precision));
        TrainOptions options{.precision = precision, .architecture = architecture, .hidden = 16};
        options.epochs = epochs;
        options.patience = 0;
        options.dropout = 0.4F;
        const std::vector<std::size_t> counts = allocations_by_epoch(data, options, device);
        ASSERT_EQ(counts.size(), epochs);
        EXPECT_GT(counts.front(), 0U);
        for (std::size_t e = epochs_that_may_allocate; e < epochs; ++e)
          EXPECT_EQ(counts[e], counts[epochs_that_may_allocate - 1]) << "in epoch " << e + 1;
      }
    }
  }
}

TEST(Allocations, EpochsOverAWholeGraphMakeNoneOnTheHost) {
  for (const int threads : {1, 3}) {
    if (!test::sanitized || threads != 1) expect_no_allocations(Device::host(threads));
  }
}

TEST(Allocations, EpochsOverAWholeGraphMakeNoneOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  expect_no_allocations(Device::cuda());
}

}  // namespace
}  // namespace bitgraph::nn
