// SPDX-License-Identifier: Apache-2.0
// Which scales of levels training learns, and what normalization their sums have over parts of a graph.
#include "nn/model/architectures.hpp"
#include "nn/sampling/training_batch.hpp"
#include "nn/training/trainer.hpp"
#include "support/cuda_device.hpp"
#include "support/planted_data.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/nn/train.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using Floats = DenseMatrix<float>;

Dataset data() { return test::planted_data({.nodes = 150, .train = 60, .validation = 40}); }

/// Row 0 are steps, row 1 places of the first level.
bool changes(const Floats& gradient, std::size_t row) {
  const Floats here = gradient.to(Device());
  return std::any_of(here.row(row).begin(), here.row(row).end(), [](float value) { return value != 0; });
}

/// Of up to 4 bits steps are learned, and offsets but for those of inputs, whose level 0 stays 0.
void expect_learned_scales(Architecture architecture, const std::string& form, const Device& device) {
  SCOPED_TRACE(std::string(to_string(architecture)) + " " + form);
  const Dataset dataset = data();
  TrainOptions options{
      .precision = Precision::real, .architecture = architecture, .hidden = 12, .depth = 3, .epochs = 3, .seed = 1};
  const Model start = train(dataset, options).model;
  options.precision = precision_from_string(form);
  options.start = &start;
  const auto trainer = make_trainer(dataset, preset(options, size_of(dataset)), device, {});
  trainer->train_epoch(1, 1e-2F);
  std::size_t scales = 0;
  for (const Parameter& parameter : trainer->parameters()) {
    if (!parameter.name.ends_with(".levels")) continue;
    SCOPED_TRACE(parameter.name);
    const bool input = parameter.name.find(".input") != std::string::npos;
    const bool message = parameter.name.find(".message") != std::string::npos;
    const bool last_message = message && !changes(parameter.gradient, 0);  // has 8 bits
    const int bits = input     ? options.precision.input.bits
                     : message ? options.precision.messages.bits
                               : options.precision.weight.bits;
    if (last_message) {
      EXPECT_FALSE(changes(parameter.gradient, 1));
      continue;
    }
    EXPECT_EQ(changes(parameter.gradient, 0), bits <= 4);
    EXPECT_EQ(changes(parameter.gradient, 1), bits <= 4 && !input);
    ++scales;
  }
  EXPECT_GE(scales, 4U);
}

TEST(LevelScales, OfFewBitsAreLearned) {
  for (const Architecture architecture : {Architecture::gcn, Architecture::gin, Architecture::sage}) {
    for (const char* const form : {"w2a2", "w4a4", "w8a2"}) expect_learned_scales(architecture, form, Device::host(2));
  }
}

TEST(LevelScales, OfFewBitsAreLearnedOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  expect_learned_scales(Architecture::gcn, "w2a2", *test::cuda_device());
  expect_learned_scales(Architecture::gin, "w8a2", *test::cuda_device());
}

/// Inputs times D^-1/2 of the whole graph are added up as in it, and the sum over those that are there is scaled up.
TEST(LayerGraph, ScalesASymmetricSumUpToAllNeighbours) {
  const CsrPattern part = without_self_loops(symmetrized(test::random_pattern(40, 40, 0.1, 2)));
  std::vector<float> degrees;
  for (NodeId i = 0; i < 40; ++i) degrees.push_back(static_cast<float>(part.row(i).size() + i % 5));
  const LayerGraph graph(part, Aggregation::symmetric, {.degrees = degrees, .input_degrees = degrees}, Device());
  const LayerGraph alone(part, Aggregation::symmetric, {}, Device());
  for (NodeId i = 0; i < 40; ++i) {
    const float all = degrees[i] + 1, there = static_cast<float>(part.row(i).size() + 1);
    EXPECT_NEAR(graph.col_scale[i], 1 / std::sqrt(all), 1e-6);
    EXPECT_NEAR(graph.row_scale[i], all / there / std::sqrt(all), 1e-5);
    EXPECT_NEAR(alone.row_scale[i], 1 / std::sqrt(there), 1e-6);
  }
}

}  // namespace
}  // namespace bitgraph::nn
