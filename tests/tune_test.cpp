// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/tune.hpp>

#include "support/cuda_device.hpp"
#include "support/expect_error.hpp"
#include "support/random_model.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace bitgraph::nn {
namespace {

Dataset planted() {
  return generate_planted_partition(
      {.num_nodes = 200, .num_classes = 3, .num_features = 70, .mean_degree = 4, .seed = 5});
}

void expect_sound(const TuneReport& report, const Model& model, const Dataset& dataset, const Device& device) {
  ASSERT_GT(report.candidates.size(), 2U);
  ASSERT_LT(report.chosen, report.candidates.size());
  EXPECT_TRUE(report.complete);
  EXPECT_TRUE(std::any_of(report.candidates.begin(), report.candidates.end(), [](auto& c) { return c.on_front; }));
  // Candidates of the same forms give the same answers, whatever else they try.
  for (const TuneCandidate& c : report.candidates) {
    EXPECT_GT(c.microseconds, 0);
    EXPECT_GT(c.peak_bytes, 0U);
    InferencePlan plan(model, dataset, c.options, device);
    InferencePlan plain(model, dataset, {.forms = c.options.forms}, device);
    const DenseMatrix<float> a = plan.run().to(Device());
    const DenseMatrix<float> b = plain.run().to(Device());
    float largest = 0;
    for (const float v : b.values()) largest = std::max(largest, std::fabs(v));
    for (std::size_t n = 0; n < a.values().size(); ++n)
      ASSERT_NEAR(a.values()[n], b.values()[n], 1e-4F * largest) << c.options.describe();
  }
}

TEST(Tune, FindsAFrontWhateverTheArchitecture) {
  const Dataset dataset = planted();
  for (const Architecture architecture :
       {Architecture::gcn, Architecture::inductive_gcn, Architecture::sage, Architecture::saint}) {
    for (const Precision precision : {Precision::real, Precision::bin}) {
      SCOPED_TRACE(std::string(to_string(architecture)) + " " + std::string(to_string(precision)));
      const Model model = test::random_model(architecture, precision, 70, 40, 3, 2, 7);
      const Device device = Device::host(1);
      expect_sound(tune(model, dataset, {.repeats = 2}, device), model, dataset, device);
    }
  }
}

TEST(Tune, OnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  const Dataset dataset = planted();
  const Model model = test::random_model(Architecture::gcn, Precision::bin, 70, 40, 3, 2, 7);
  expect_sound(tune(model, dataset, {.repeats = 2}, *test::cuda_device()), model, dataset, *test::cuda_device());
}

TEST(Tune, StopsWhenTheTimeIsUp) {
  const Model model = test::random_model(Architecture::gcn, Precision::bin, 70, 40, 3, 2, 7);
  const TuneReport report = tune(model, planted(), {.seconds = 1e-9, .repeats = 1});
  EXPECT_EQ(report.candidates.size(), 1U);
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.chosen, 0U);
}

TEST(Tune, RefusesWhatItCannotJudge) {
  const Model model = test::random_model(Architecture::gcn, Precision::bin, 70, 40, 3, 2, 7);
  Dataset dataset = planted();
  dataset.validation.clear();
  test::expect_bad_input([&] { static_cast<void>(tune(model, dataset)); },
                         "tune: the data set planted_partition has no validation nodes");
}

TEST(Plan, GoesThroughAFile) {
  const test::TemporaryFolder folder;
  const InferenceOptions options{.forms = {Precision::bin, Precision::full},
                                 .features = FeatureStorage::dense,
                                 .graph = GraphFormat::tiles,
                                 .tile_dim = 32,
                                 .strategy = SpmmStrategy::twice_ones,
                                 .order = Order::degree,
                                 .sequence = Sequence::update_first,
                                 .fusion = Fusion::none,
                                 .launching = Launching::graph};
  options.save(folder / "a.json");
  const InferenceOptions read = InferenceOptions::load(folder / "a.json");
  read.save(folder / "b.json");
  EXPECT_EQ(test::contents(folder / "a.json"), test::contents(folder / "b.json"));
  EXPECT_EQ(read.describe(), options.describe());
  EXPECT_EQ(read.forms, options.forms);
}

TEST(Plan, ABadFileIsRefused) {
  const test::TemporaryFolder folder;
  const auto path = folder / "plan.json";
  const auto refuse = [&](const std::string& text, const std::string& message) {
    std::ofstream(path) << text;
    test::expect_bad_input([&] { static_cast<void>(InferenceOptions::load(path)); }, path.string() + ": " + message);
  };
  refuse("[1]", "not a plan: no JSON object");
  refuse("{\"forms\": [\"bin\"", "not a plan: no JSON object");
  refuse("{\"grpah\": \"csr\"}", "unknown option 'grpah'");
  refuse("{\"graph\": \"coo\"}", "'graph' cannot be \"coo\"");
  refuse("{\"tile_dim\": 5}", "'tile_dim' cannot be 5");
  refuse("{\"tile_dim\": 1099511627784}", "'tile_dim' cannot be 1099511627784");
  refuse("{\"forms\": \"bin\"}", "'forms' cannot be \"bin\"");
  refuse("{\"forms\": null}", "'forms' cannot be null");
  refuse("{\"graph\": \"csr\", \"strategy\": \"twice-ones\"}",
         "'strategy' cannot be \"twice-ones\" where 'graph' is \"csr\": that is for tiles");
  refuse("{\"tile_dim\": 8.5}", "'tile_dim' cannot be 8.5");
  refuse("{\"forms\": [\"bits\"]}", "'forms' cannot be [\"bits\"]");
  refuse("{\"order\": 3}", "'order' cannot be 3");
}

}  // namespace
}  // namespace bitgraph::nn
