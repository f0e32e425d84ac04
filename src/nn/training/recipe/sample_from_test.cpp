// SPDX-License-Identifier: Apache-2.0
// What samples are taken from: what training gains where few nodes have a label, and what tells one run from another.
// unseen_test.cpp has what may not be seen, network_step_test.cpp the steps beside an oracle.
#include "nn/sampling/parts/seen_part.hpp"
#include "support/expect_error.hpp"
#include "support/planted_data.hpp"
#include "support/temporary_folder.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/nn/train.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <stop_token>
#include <string>
#include <vector>

namespace bitgraph::nn {
namespace {

/// Four labels a class, and neighbours that tell more of a node than its own features.
Dataset few_labels() {
  return test::planted_data({.nodes = 400, .features = 90, .train = 12, .validation = 200, .mixing = 0.5});
}

std::string bytes_of(const Model& model, const test::TemporaryFolder& folder) {
  model.save(folder / "model");
  return test::contents(folder / "model");
}

TEST(SampleFrom, AllNodesTeachMoreWhereFewHaveALabel) {
  const Dataset dataset = few_labels();
  ASSERT_LT(size_of(dataset).training_neighbors, 1);
  for (const Architecture architecture : {Architecture::sage, Architecture::saint}) {
    for (const Precision& precision : {Precision::real, Precision::bin}) {
      const auto accuracy = [&](SampleFrom from) {
        const TrainOptions options{.precision = precision,
                                   .architecture = architecture,
                                   .hidden = 32,
                                   .sample_from = from,
                                   .epochs = 60,
                                   .seed = 1};
        return train(dataset, options, Device::host(1)).validation_accuracy;
      };
      EXPECT_GT(accuracy(SampleFrom::all), accuracy(SampleFrom::training) + 0.08)
          << to_string(architecture) << " " << to_string(precision);
    }
  }
}

TEST(SampleFrom, TheChoiceIsThatOfThePreset) {
  const Dataset dataset = few_labels();
  const test::TemporaryFolder folder(test::folder_in_memory());
  const auto trained = [&](SampleFrom from) {
    return bytes_of(
        train(dataset, {.architecture = Architecture::sage, .hidden = 8, .sample_from = from, .epochs = 3}).model,
        folder);
  };
  EXPECT_EQ(trained(SampleFrom::automatic), trained(SampleFrom::all));
  EXPECT_NE(trained(SampleFrom::automatic), trained(SampleFrom::training));
}

TEST(SampleFrom, ARunThatIsStoppedGoesOnAndNotAsAnother) {
  const Dataset dataset = few_labels();
  for (const Architecture architecture : {Architecture::sage, Architecture::saint}) {
    for (const Precision& precision : {Precision::real, Precision::bin}) {
      const test::TemporaryFolder folder(test::folder_in_memory());
      TrainOptions options{.precision = precision,
                           .architecture = architecture,
                           .hidden = 8,
                           .sample_from = SampleFrom::all,
                           .epochs = 4,
                           .seed = 3};
      const std::string whole = bytes_of(train(dataset, options, Device::host(2)).model, folder);
      options.checkpoint = folder / "state";
      options.checkpoint_every = 1;
      std::stop_source stop;
      const auto look = [&](const EpochReport& report) {
        if (!report.of_teacher && report.epoch == 2) stop.request_stop();
      };
      EXPECT_THROW((void)train(dataset, options, Device::host(2).with_stop(stop.get_token()), look), Error);
      TrainOptions other = options;
      other.sample_from = SampleFrom::training;
      test::expect_error_with([&] { (void)train(dataset, other, Device::host(2)); }, ErrorCode::bad_input,
                              "of all nodes', expected 'batches of 512");
      EXPECT_EQ(bytes_of(train(dataset, options, Device::host(2)).model, folder), whole);
    }
  }
}

TEST(SampleFrom, TrainingNodesMayStandTwice) {
  Dataset dataset = few_labels();
  const test::TemporaryFolder folder(test::folder_in_memory());
  for (const Architecture architecture : {Architecture::sage, Architecture::saint}) {
    const TrainOptions options{
        .precision = Precision::real, .architecture = architecture, .hidden = 8, .sample_from = SampleFrom::all};
    TrainOptions few = options;
    few.epochs = 3;
    const Model once = train(dataset, few).model;
    Dataset twice = few_labels();
    std::ranges::reverse(twice.train);
    twice.train.push_back(twice.train.front());
    const Model again = train(twice, few).model;
    for (std::size_t l = 0; l < once.layers.size(); ++l) {
      const auto a = once.layers[l].neighbor.floats().values(), b = again.layers[l].neighbor.floats().values();
      EXPECT_TRUE(std::ranges::equal(a, b));
    }
  }
}

TEST(SampleFrom, ADataSetWithSomeLabelsSharesAllElse) {
  const Dataset dataset = few_labels();
  const std::vector<NodeId> nodes{3, 5, 8};
  const Dataset some = with_labels_of(dataset, nodes);
  EXPECT_TRUE(some.graph == dataset.graph);
  EXPECT_TRUE(some.features.pattern == dataset.features.pattern);
  EXPECT_EQ(some.features.values.data(), dataset.features.values.data());
  EXPECT_EQ(some.train, nodes);
  for (NodeId i = 0; i < dataset.graph.nrows(); ++i)
    EXPECT_EQ(some.labels[i], std::ranges::count(nodes, i) != 0 ? dataset.labels[i] : -1);
}

}  // namespace
}  // namespace bitgraph::nn
