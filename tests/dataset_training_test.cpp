// SPDX-License-Identifier: Apache-2.0
// Training and inference on every kind of data set: dense features, in memory and in the mapped file, and MUSAE's.
#include "nn/model/architectures.hpp"
#include "nn/model/random_model.hpp"
#include "support/datasets.hpp"
#include "support/everywhere.hpp"
#include "support/near_logits.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"

#include <bitgraph/graph/generate.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

namespace bitgraph::nn {
namespace {

using test::expect_near;

const std::vector<Architecture> architectures = all_architectures();
constexpr std::array precisions{Precision::real, Precision::full, Precision::bin};

/// 70 features: two words a row, the second with padding.
Dataset dense_planted(NodeId num_nodes, double signal) {
  PlantedGraphOptions options{.num_nodes = num_nodes, .num_entries = num_nodes * EdgeOffset{8}, .num_classes = 4};
  options.num_features = 70;
  options.homophily = 0.8;
  options.feature_signal = signal;
  options.label_noise = 0;
  options.seed = 2;
  return generate_planted_graph(options);
}

Dataset with_sparse_features(Dataset dataset) {
  dataset.features = sparse_features(dataset.dense_features);
  dataset.dense_features = {};
  return dataset;
}

TEST(DenseFeatures, GiveTheLogitsOfTheSameFeaturesAsCsr) {
  const Dataset dense = dense_planted(300, 0.3);
  const Dataset sparse = with_sparse_features(dense_planted(300, 0.3));
  for (const Architecture architecture : architectures) {
    for (const Precision precision : {Precision::real, Precision::bin}) {
      const Model model = random_model(architecture, precision, 70, 33, 4, 2, 7);
      const auto forms = model.layer_forms(precision);
      SCOPED_TRACE(std::string(to_string(architecture)) + " " + std::string(to_string(precision)));
      const DenseMatrix<float> expected = emulate(model, dense, forms);
      expect_near(emulate(model, sparse, forms), expected);
      for (const Dataset* dataset : {&dense, &sparse}) {
        InferencePlan plan(model, *dataset, {.forms = model.layer_forms(precision)}, Device::host(2));
        expect_near(plan.run(), expected);
      }
    }
  }
}

TEST(DenseFeatures, RowsOfBothSignsAreNotDividedByTheirSums) {
  const Dataset dataset = dense_planted(300, 0.5);
  for (const Architecture architecture : architectures) {
    const TrainResult result =
        train(dataset, {.precision = Precision::real, .architecture = architecture, .epochs = 1});
    EXPECT_FALSE(result.model.normalize_rows) << to_string(architecture);
  }
}

TEST(DenseFeatures, EveryArchitectureLearnsFromThem) {
  const Dataset dataset = dense_planted(500, 0.5);
  for (const Architecture architecture : architectures) {
    for (const Precision precision : precisions) {
      if (architecture == Architecture::gcn && precision == Precision::bin) continue;  // its teacher takes long
      TrainOptions options{.precision = precision, .architecture = architecture, .hidden = 32};
      options.epochs = test::sanitized ? 2 : precision == Precision::real ? 10 : 30;
      options.learning_rate = 1e-2F;
      const TrainResult result = train(dataset, options, Device::host(2));
      InferencePlan plan(result.model, dataset, {.forms = result.model.layer_forms(precision)}, Device::host(2));
      EXPECT_GT(score(plan.run(), dataset.labels, dataset.test).accuracy(), test::sanitized ? 0 : 0.8)
          << to_string(architecture) << " " << to_string(precision);
    }
  }
}

TEST(DenseFeatures, InTheMappedFileTrainTheSameModel) {
  const test::TemporaryFolder folder;
  Dataset dataset = dense_planted(400, 0.3);
  dataset.split = {};  // as the file has it
  save_dataset(dataset, folder / "planted_graph.npz");
  const Dataset mapped = load_dataset(folder / "planted_graph.npz");
  ASSERT_TRUE(mapped.has_dense_features());
  for (const Architecture architecture : architectures) {
    const TrainOptions options{.precision = Precision::full, .architecture = architecture, .hidden = 16, .epochs = 3};
    train(dataset, options, Device::host(1)).model.save(folder / "memory.safetensors");
    train(mapped, options, Device::host(1)).model.save(folder / "mapped.safetensors");
    EXPECT_EQ(test::contents(folder / "memory.safetensors"), test::contents(folder / "mapped.safetensors"))
        << to_string(architecture);
  }
}

TEST(RealDatasets, TrainWithEveryArchitectureAndPrecision) {
  BITGRAPH_DATASETS_OR_SKIP(folder);
  Dataset dataset = load_dataset(folder / "musae" / "chameleon");
  inductive_split(dataset, {0.5, 0.25, 0.25}, 1);
  for (const Architecture architecture : architectures) {
    Model teacher;  // under sanitizers the float model of the first round: a teacher of its own takes long
    for (const Precision precision : {Precision::real, Precision::full}) {
      // Bits of a whole graph learn in small steps.
      const bool slow = architecture == Architecture::gcn && precision == Precision::full;
      TrainOptions options{.precision = precision, .architecture = architecture, .hidden = 16};
      options.epochs = test::sanitized ? 1 : slow ? 300 : architecture == Architecture::gin ? 60 : 20;
      options.learning_rate = 1e-2F;
      options.fan_outs = {5, 5};
      options.walk_roots = 300;
      if (test::sanitized && precision != Precision::real) options.teacher = &teacher;
      TrainResult result = train(dataset, options, Device::host(2));
      InferencePlan plan(result.model, dataset, {.forms = result.model.layer_forms(precision)}, Device::host(2));
      const Score reached = score(plan.run(), dataset.labels, dataset.test);
      if (precision == Precision::real) teacher = std::move(result.model);
      EXPECT_TRUE(std::isfinite(reached.loss)) << to_string(architecture) << " " << to_string(precision);
      // Five classes of one size: chance is right for a fifth.
      EXPECT_GT(reached.accuracy(), test::sanitized ? 0 : 0.25)
          << to_string(architecture) << " " << to_string(precision);
    }
  }
}

TEST(RealDatasets, FacebookIsLearned) {
  BITGRAPH_DATASETS_OR_SKIP(folder);
  Dataset dataset = load_dataset(folder / "musae" / "facebook");
  inductive_split(dataset, {0.5, 0.25, 0.25}, 1);
  const std::size_t epochs = test::sanitized ? 1 : 20;
  const TrainResult result =
      train(dataset, {.precision = Precision::real, .hidden = 32, .epochs = epochs}, Device::host(2));
  InferencePlan plan(result.model, dataset, {.forms = result.model.layer_forms(Precision::real)}, Device::host(2));
  EXPECT_GT(score(plan.run(), dataset.labels, dataset.test).accuracy(), test::sanitized ? 0 : 0.7);
}

}  // namespace
}  // namespace bitgraph::nn
