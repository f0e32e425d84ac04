// SPDX-License-Identifier: Apache-2.0
// Partitions, models and expectations of the tests of plans over parts.
#pragma once

#include "nn/inference/parts/over_parts.hpp"
#include "nn/inference/predict.hpp"
#include "nn/model/random_model.hpp"
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/planted_data.hpp"

#include <bitgraph/core/random.hpp>
#include <bitgraph/formats/partition.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/ops/select.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace bitgraph::nn::test {

using namespace bitgraph::test;

/// Uneven parts, two of which have no nodes.
inline Partition partition_of(const Dataset& dataset, NodeId parts) {
  std::vector<NodeId> part_of;
  for (NodeId i = 0; i < dataset.graph.nrows(); ++i) {
    const auto part =
        static_cast<NodeId>(std::max(random_below({1, 0, 0}, i, parts), random_below({2, 0, 0}, i, parts)));
    part_of.push_back(part == 1 || part == 3 ? 4 : part);
  }
  return Partition(std::move(part_of), parts, {undirected_fingerprint(dataset.graph), 0});
}

/// The same data, without the edges between batches.
inline Dataset of_batches(const Dataset& dataset, const Partition& partition, std::size_t batch_parts) {
  const auto batch = [&](NodeId i) { return partition.part_of()[i] / batch_parts; };
  return {.name = dataset.name,
          .graph = select(dataset.graph, [&](NodeId i, NodeId j) { return batch(i) == batch(j); }),
          .features = {dataset.features.pattern.share(), dataset.features.values.share()},
          .dense_features = dataset.dense_features.share(),
          .labels = dataset.labels,
          .num_classes = dataset.num_classes};
}

/// Whether the order in which floats are added up depends on the number of rows: by OpenBLAS, and on a CUDA device by
/// the kernels of the last layer, too.
inline bool adds_floats(const Model& model, const Device& device) {
  return model.precision == Precision::real || (!device.is_host() && !model.precision.has_levels());
}

/// Bit by bit; floats but for rounding.
inline void expect_logits(const DenseMatrix<float>& actual, const DenseMatrix<float>& expected, bool floats) {
  if (!floats) return expect_identical(actual.values(), expected.values());
  float largest = 0;
  for (const float v : expected.values()) largest = std::max(largest, std::fabs(v));
  for (std::size_t n = 0; n < expected.values().size(); ++n)
    ASSERT_NEAR(actual.values()[n], expected.values()[n], 1e-5F * largest);
}

/// Of 4 bits. Its steps fit the data.
inline Model level_model(Architecture architecture, const Dataset& dataset) {
  const Model start = random_model(architecture, Precision::real, dataset.num_features(), 16,
                                   static_cast<std::size_t>(dataset.num_classes), 2, 5);
  TrainOptions options{.precision = precision_from_string("w4a4"), .architecture = architecture, .hidden = 16};
  options.epochs = 1;
  options.teacher = &start;
  return train(dataset, options, Device::host(2)).model;
}

/// A handle with its own record of memory.
inline std::vector<Device> places() {
  std::vector<Device> devices{Device::host(2)};
  if (cuda_device()) devices.push_back(Device::cuda());
  return devices;
}

inline InferenceOptions options_for(const Model& model, const Partition& partition, std::size_t batch_parts) {
  return {.forms = checked_forms(model, {}), .partition = &partition, .batch_parts = batch_parts};
}

inline DenseMatrix<float> logits_of(const Model& model, const Dataset& dataset, const Device& device) {
  return InferencePlan(model, dataset, {}, device).run().to(Device{});
}

inline std::vector<Model> models_for(const Dataset& dataset, Architecture architecture) {
  std::vector<Model> models;
  const auto classes = static_cast<std::size_t>(dataset.num_classes);
  for (const Precision& precision : {Precision::real, Precision::full, Precision::bin})
    models.push_back(random_model(architecture, precision, dataset.num_features(), 24, classes, 3, 5));
  models.push_back(level_model(architecture, dataset));
  return models;
}

/// Run after run: the first is not recorded, the others are.
inline void expect_runs(OverParts& plan, const DenseMatrix<float>& expected, bool floats, int repeats = 3) {
  DenseMatrix<float> first;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    DenseMatrix<float> actual = plan.run().to(Device{});
    ASSERT_EQ(actual.nrows(), expected.nrows());
    expect_logits(actual, expected, floats);
    if (repeat == 0)
      first = std::move(actual);
    else
      expect_identical(actual.values(), first.values());
  }
}

/// Twenty parts of one size.
inline Partition even_parts(const Dataset& dataset) {
  std::vector<NodeId> part_of(dataset.graph.nrows());
  for (NodeId i = 0; i < part_of.size(); ++i) part_of[i] = i % 20;
  return Partition(std::move(part_of), 20);
}

}  // namespace bitgraph::nn::test
