// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/quantize.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/nn/tune.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include "nn/model/architectures.hpp"
#include "nn/model/random_model.hpp"
#include "support/cuda_device.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

Dataset planted() {
  return generate_planted_partition(
      {.num_nodes = 200, .num_classes = 3, .num_features = 70, .mean_degree = 4, .seed = 5});
}

void expect_sound(const TuneReport& report, const Model& given, const Dataset& dataset, const Device& device) {
  ASSERT_GT(report.candidates.size(), 2U);
  ASSERT_LT(report.chosen, report.candidates.size());
  EXPECT_TRUE(report.complete);
  EXPECT_TRUE(std::any_of(report.candidates.begin(), report.candidates.end(), [](auto& c) { return c.on_front; }));
  // Candidates of the same forms give the same answers, whatever else they try.
  for (const TuneCandidate& c : report.candidates) {
    EXPECT_GT(c.microseconds, 0);
    EXPECT_GT(c.peak_bytes, 0U);
    const Model& model = report.model_of(c, std::span(&given, 1));
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
  for (const Architecture architecture : all_architectures()) {
    for (const Precision precision : {Precision::real, Precision::bin}) {
      SCOPED_TRACE(std::string(to_string(architecture)) + " " + std::string(to_string(precision)));
      const Model model = random_model(architecture, precision, 70, 40, 3, 2, 7);
      const Device device = Device::host(1);
      expect_sound(tune(model, dataset, {.repeats = 2}, device), model, dataset, device);
    }
  }
}

TEST(Tune, OnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  const Dataset dataset = planted();
  const Model model = random_model(Architecture::gcn, Precision::bin, 70, 40, 3, 2, 7);
  expect_sound(tune(model, dataset, {.repeats = 2}, *test::cuda_device()), model, dataset, *test::cuda_device());
}

bool tried(const TuneReport& report, std::size_t model, const std::function<bool(const TuneCandidate&)>& what) {
  return std::any_of(report.candidates.begin(), report.candidates.end(),
                     [&](const TuneCandidate& c) { return c.model == model && what(c); });
}

/// One narrow in bits that knows nothing, one in floats that has learned and takes many times as long.
std::vector<Model> quick_and_accurate(const Dataset& dataset) {
  std::vector<Model> models;
  models.push_back(random_model(Architecture::gcn, Precision::bin, 70, 8, 3, 2, 7));
  models.push_back(train(dataset, {.precision = Precision::real, .hidden = 512, .epochs = 20}).model);
  return models;
}

TEST(Tune, StopsWhenTheTimeIsUp) {
  const Model model = random_model(Architecture::gcn, Precision::bin, 70, 40, 3, 2, 7);
  const TuneReport report = tune(model, planted(), {.seconds = 1e-9, .repeats = 1});
  EXPECT_EQ(report.candidates.size(), 1U);
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.chosen, 0U);
  const std::vector<Model> models = quick_and_accurate(planted());  // they share the time
  EXPECT_EQ(tune(std::span(models), planted(), {.seconds = 1e-9, .repeats = 1}).candidates.size(), 1U);
}

TEST(Tune, JudgesModelsTogether) {
  const Dataset dataset = planted();
  const auto models = quick_and_accurate(dataset);
  const auto judge = [&](double max_loss) {
    return tune(std::span(models), dataset, {.repeats = 3, .max_loss = max_loss, .bits = {}}, Device::host(1));
  };
  const TuneReport strict = judge(0.01);
  EXPECT_TRUE(strict.complete);
  const auto& all = strict.candidates;
  ASSERT_GT(all.size(), 2U);
  EXPECT_EQ(all[0].model, 0U);
  EXPECT_EQ(all[0].options.forms, models[0].layer_forms(Precision::bin));
  EXPECT_EQ(all[1].model, 1U);  // each as it was trained, ahead of all else
  EXPECT_EQ(all[1].options.forms, models[1].layer_forms(Precision::real));
  ASSERT_GT(all[1].validation_accuracy, all[0].validation_accuracy + 0.1);
  EXPECT_EQ(all[strict.chosen].model, 1U);
  for (const std::size_t model : {0U, 1U}) {
    EXPECT_TRUE(tried(strict, model, [](auto& c) { return c.on_front; })) << model;
    EXPECT_TRUE(tried(strict, model, [](auto& c) { return c.options.order == Order::degree; })) << model;
  }
  for (const TuneCandidate& c : all) {
    InferencePlan plan(strict.model_of(c, models), dataset, c.options, Device::host(1));
    EXPECT_EQ(score(plan.run(), dataset.labels, dataset.validation).accuracy(), c.validation_accuracy);
  }

  const TuneReport lenient = judge(1);
  EXPECT_EQ(lenient.candidates[lenient.chosen].model, 0U);
}

TEST(Tune, ImprovesWhatMayBeChosenFirst) {
  const Dataset dataset = planted();
  auto models = quick_and_accurate(dataset);
  std::swap(models[0], models[1]);
  const TuneReport report = tune(std::span(models), dataset, {.repeats = 1, .bits = {}}, Device::host(1));
  const auto improved = std::find_if(report.candidates.begin(), report.candidates.end(), [](const TuneCandidate& c) {
    return c.options.features == FeatureStorage::dense;
  });
  ASSERT_NE(improved, report.candidates.end());
  EXPECT_EQ(improved->model, 0U);
  EXPECT_EQ(report.candidates[report.chosen].model, 0U);

  const TuneReport lenient =
      tune(std::span(models), dataset, {.repeats = 3, .max_loss = 1, .bits = {}}, Device::host(1));
  EXPECT_EQ(lenient.candidates[lenient.chosen].model, 1U);  // it has won a second trial against the other's default
}

/// As sums of levels do: votes over tiles are tried with each strategy, up to a side that depends on the time.
bool takes_tiles(const TuneCandidate& c) {
  const InferenceOptions& o = c.options;
  return o.graph == GraphFormat::tiles && o.tile_dim == 64 && o.strategy == SpmmStrategy::automatic;
}

/// Sums of levels are tried over tiles where these are full enough.
TEST(Tune, TriesTilesOfDenseGraphsForSumsOfLevels) {
  for (const double degree : {4.0, 60.0}) {
    SCOPED_TRACE(degree);
    const Dataset dataset = generate_planted_partition(
        {.num_nodes = 200, .num_classes = 3, .num_features = 70, .mean_degree = degree, .seed = 5});
    const Model floats = random_model(Architecture::gcn, Precision::real, 70, 40, 3, 2, 7);
    const Model levels = quantize(floats, dataset, {.precision = Precision::of_levels(4, 4, 4)});
    const Device device = Device::host(1);
    const TuneReport report = tune(levels, dataset, {.repeats = 2}, device);
    EXPECT_EQ(tried(report, 0, takes_tiles), degree > 50);
    expect_sound(report, levels, dataset, device);
    for (const TuneCandidate& c : report.candidates) {
      EXPECT_NEAR(static_cast<double>(c.predicted_bytes), static_cast<double>(c.peak_bytes),
                  0.02 * static_cast<double>(c.peak_bytes))
          << c.options.describe();
    }
  }
  const Model bits = random_model(Architecture::gcn, Precision::full, 70, 40, 3, 2, 7);
  EXPECT_FALSE(tried(tune(bits, planted(), {.repeats = 1}, Device::host(1)), 0, takes_tiles)) << "no sums of levels";
}

/// A device may take full tiles by itself, so the pattern is a candidate of its own.
TEST(Tune, TriesThePatternBesideFullTilesOnCuda) {
  BITGRAPH_REQUIRE_CUDA();
  const Dataset dataset = generate_planted_partition(
      {.num_nodes = 200, .num_classes = 3, .num_features = 70, .mean_degree = 60, .seed = 5});
  const Model floats = random_model(Architecture::gcn, Precision::real, 70, 40, 3, 2, 7);
  const Model levels = quantize(floats, dataset, {.precision = Precision::of_levels(4, 4, 4)});
  const TuneReport report = tune(levels, dataset, {.repeats = 2}, *test::cuda_device());
  EXPECT_TRUE(tried(report, 0, takes_tiles));
  EXPECT_TRUE(tried(report, 0, [](const TuneCandidate& c) { return c.options.graph == GraphFormat::csr; }));
}

/// Two bits have kernels on planes and on bytes, four bits on bytes alone.
TEST(Tune, TriesPlanesBesideBytesOnCuda) {
  BITGRAPH_REQUIRE_CUDA();
  const Dataset dataset = generate_planted_partition(
      {.num_nodes = 200, .num_classes = 3, .num_features = 300, .mean_degree = 6, .seed = 5});
  const Model floats = random_model(Architecture::gcn, Precision::real, 300, 64, 3, 2, 7);
  for (const int bits : {2, 4}) {
    const Model levels = quantize(floats, dataset, {.precision = Precision::of_levels(bits, bits, bits)});
    const TuneReport report = tune(levels, dataset, {.repeats = 2}, *test::cuda_device());
    for (const LevelStrategy strategy : {LevelStrategy::planes, LevelStrategy::bytes})
      EXPECT_EQ(tried(report, 0, [&](const TuneCandidate& c) { return c.options.levels == strategy; }), bits == 2);
    expect_sound(report, levels, dataset, *test::cuda_device());
  }
}

TEST(Tune, RefusesWhatItCannotJudge) {
  test::expect_error([&] { static_cast<void>(tune(std::span<const Model>(), planted())); }, ErrorCode::usage,
                     "tune: there is no model");
  std::vector<Model> models = quick_and_accurate(planted());
  models.push_back(random_model(Architecture::gcn, Precision::bin, 71, 40, 3, 2, 7));
  test::expect_bad_input([&] { static_cast<void>(tune(std::span(models), planted())); },
                         "the model takes 71 features, the data set planted_partition has 70");
  const Model model = random_model(Architecture::gcn, Precision::bin, 70, 40, 3, 2, 7);
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
                                 .levels = LevelStrategy::planes,
                                 .order = Order::degree,
                                 .sequence = Sequence::update_first,
                                 .fusion = Fusion::none,
                                 .launching = Launching::graph,
                                 .memory = 123456789,
                                 .batch_parts = 7,
                                 .batches_at = BatchesAt::device,
                                 .model_file = "a \"model\"",
                                 .model_fingerprint = "gcn 2 0123456789abcdef",
                                 .partition_file = "parts"};
  options.save(folder / "a.json");
  const InferenceOptions read = InferenceOptions::load(folder / "a.json");
  read.save(folder / "b.json");
  EXPECT_EQ(test::contents(folder / "a.json"), test::contents(folder / "b.json"));
  EXPECT_EQ(read.describe(), options.describe());
  EXPECT_EQ(read.forms, options.forms);
  EXPECT_EQ(read.model_file, options.model_file);
  EXPECT_EQ(read.partition_file, "parts");
  EXPECT_EQ(read.memory, 123456789U);
  EXPECT_EQ(read.batch_parts, 7U);
  EXPECT_EQ(read.levels, LevelStrategy::planes);
  EXPECT_EQ(read.batches_at, BatchesAt::device);
  EXPECT_NE(read.describe().find("batches of 7 parts, batches at the device"), std::string::npos);
  EXPECT_EQ(read.model_fingerprint, options.model_fingerprint);
}

TEST(Plan, NeedNotNameAModel) {
  const test::TemporaryFolder folder;
  InferenceOptions().save(folder / "a.json");
  EXPECT_EQ(test::contents(folder / "a.json").find("model"), std::string::npos);
  EXPECT_TRUE(InferenceOptions::load(folder / "a.json").model_fingerprint.empty());
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
  refuse("{\"levels\": \"bits\"}", "'levels' cannot be \"bits\"");
  refuse("{\"tile_dim\": 8.5}", "'tile_dim' cannot be 8.5");
  refuse("{\"forms\": [\"bits\"]}", "'forms' cannot be [\"bits\"]");
  refuse("{\"order\": 3}", "'order' cannot be 3");
  refuse("{\"memory\": -3}", "'memory' cannot be -3");
  refuse("{\"model\": 3}", "'model' cannot be 3");
  refuse("{\"partition\": 3}", "'partition' cannot be 3");
  refuse("{\"batch_parts\": -1}", "'batch_parts' cannot be -1");
  refuse("{\"batch_parts\": 1.5}", "'batch_parts' cannot be 1.5");
  refuse("{\"batches_at\": \"gpu\"}", "'batches_at' cannot be \"gpu\"");
  refuse("{\"fingerprint\": [\"gcn\"]}", "'fingerprint' cannot be [\"gcn\"]");
}

}  // namespace
}  // namespace bitgraph::nn
