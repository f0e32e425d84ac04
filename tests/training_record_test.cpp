// SPDX-License-Identifier: Apache-2.0
// What a model remembers of its training, and training that starts from another model's weights.
#include "nn/model/architectures.hpp"
#include "nn/model/random_model.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

#include <bitgraph/graph/generate.hpp>
#include <bitgraph/io/array.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/train.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

const std::vector<Architecture> architectures = all_architectures();

Dataset planted(std::uint64_t seed = 3) {
  return generate_planted_partition(
      {.num_nodes = 200, .num_classes = 3, .num_features = 40, .mean_degree = 6, .seed = seed});
}

/// The splits there are, each put on a data set.
std::vector<std::function<void(Dataset&)>> splits() {
  return {[](Dataset& dataset) { dataset.split = {}; },  // as if a file had it
          [](Dataset& dataset) { draw_split(dataset, {.train_per_class = 7, .validation_per_class = 9, .seed = 11}); },
          [](Dataset& dataset) { inductive_split(dataset, {.train = 0.7, .validation = 0.2, .test = 0.1}, 5); }};
}

void expect_same_split(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(a.train, b.train);
  EXPECT_EQ(a.validation, b.validation);
  EXPECT_EQ(a.test, b.test);
  EXPECT_EQ(a.split.describe(), b.split.describe());
}

TEST(TrainingRecord, AModelFileRemembersItsSplit) {
  const test::TemporaryFolder folder;
  for (const auto& put_split : splits()) {
    Dataset dataset = planted();
    put_split(dataset);
    SCOPED_TRACE(dataset.split.describe());
    train(dataset, {.precision = Precision::real, .hidden = 4, .epochs = 1}).model.save(folder / "model.safetensors");
    const Model model = Model::load(folder / "model.safetensors");
    ASSERT_TRUE(model.trained.has_value());
    EXPECT_EQ(model.trained->split.describe(), dataset.split.describe());
    EXPECT_EQ(model.trained->data, dataset.fingerprint());

    Dataset again = planted();
    if (dataset.split.kind == SplitKind::file) again.split = {};
    EXPECT_TRUE(model.trained->restore(again));
    expect_same_split(again, dataset);
  }
}

TEST(TrainingRecord, AnotherDataSetKeepsItsOwnSplit) {
  Dataset dataset = planted();
  inductive_split(dataset, {}, 5);
  const TrainingRecord record = TrainingRecord::of(dataset);
  // Fewer labels: the same draw takes other nodes. Few nodes: no such draw is possible.
  for (const NodeId nodes : {200U, 3U}) {
    Dataset other = generate_planted_partition({.num_nodes = nodes, .num_classes = 3, .num_features = 40, .seed = 3});
    other.labels[0] = -1;
    draw_split(other, {.train_per_class = 1, .validation_per_class = 1});
    const auto parts = std::tuple(other.train, other.validation, other.test);
    const std::string split = other.split.describe();
    EXPECT_FALSE(record.restore(other));
    EXPECT_EQ(parts, std::tuple(other.train, other.validation, other.test));
    EXPECT_EQ(other.split.describe(), split);
  }
}

TEST(TrainingRecord, TheFingerprintTellsGraphFeaturesAndLabels) {
  const Dataset dataset = planted();
  EXPECT_EQ(dataset.fingerprint(), planted().fingerprint());
  Dataset renamed = planted();
  renamed.name = "another name";
  draw_split(renamed, {.seed = 99});
  EXPECT_EQ(renamed.fingerprint(), dataset.fingerprint());
  Dataset other = planted();
  other.labels[7] = (other.labels[7] + 1) % 3;
  EXPECT_NE(other.fingerprint(), dataset.fingerprint());
  other = planted();
  other.features.values[5] += 1;
  EXPECT_NE(other.fingerprint(), dataset.fingerprint());
  // The same numbers of entries a row, and other columns.
  const auto one_entry = [](NodeId column) {
    Dataset set;
    set.graph = CsrPattern(3, 3, Buffer<EdgeOffset>{0, 1, 1, 1}, Buffer<NodeId>{column});
    set.features.pattern = CsrPattern(3, 2, Buffer<EdgeOffset>{0, 0, 0, 0}, Buffer<NodeId>());
    return set;
  };
  EXPECT_NE(one_entry(1).fingerprint(), one_entry(2).fingerprint());
}

TEST(TrainingRecord, BadMetadataAreRefused) {
  const test::TemporaryFolder folder;
  Dataset dataset = planted();
  inductive_split(dataset, {}, 5);
  Model model = random_model(Architecture::gcn, Precision::real, 40, 4, 3, 2, 1);
  model.trained = TrainingRecord::of(dataset);
  model.save(folder / "model.safetensors");
  const std::string name = (folder / "bad.safetensors").string();
  const std::vector<std::array<std::string, 3>> cases{
      {"split", "by hand", "metadata 'split': unknown kind 'by hand'"},
      {"split_seed", "-1", "metadata 'split_seed': '-1' is not a whole number"},
      {"split_shares", "0.5,0.5", "metadata 'split_shares': '0.5,0.5', expected 3 numbers with commas between them"},
      {"split_shares", "0.5,0.5,x",
       "metadata 'split_shares': '0.5,0.5,x', expected 3 numbers with commas between them"},
      {"split_shares", "0.5,0.2,0.2,0.1",
       "metadata 'split_shares': '0.5,0.2,0.2,0.1', expected 3 numbers with commas between them"},
      {"training_nodes", "12", "metadata 'training_nodes': '12', expected 16 hexadecimal digits"},
      {"data_fingerprint", "000000000000000X",
       "metadata 'data_fingerprint': '000000000000000X', expected 16 hexadecimal digits"}};
  for (const auto& [key, value, message] : cases) {
    TensorFile file = load_safetensors(folder / "model.safetensors");
    file.metadata[key] = value;
    save_safetensors(name, file);
    test::expect_bad_input([&] { static_cast<void>(Model::load(name)); }, name + ": " + message);
  }
  // Files of before have no record.
  TensorFile file = load_safetensors(folder / "model.safetensors");
  for (const char* key : {"split", "split_seed", "split_shares", "training_nodes", "data_fingerprint"})
    file.metadata.erase(key);
  save_safetensors(name, file);
  EXPECT_FALSE(Model::load(name).trained.has_value());
}

/// One step of no length from `start`, without dropout: the weights are those of the start.
TrainOptions standing_still(const Model& start, Precision precision, std::size_t depth) {
  return {.precision = precision,
          .architecture = start.architecture,
          .hidden = start.hidden(),
          .depth = depth,
          .epochs = 1,
          .learning_rate = 1e-12F,
          .weight_decay = 0.0F,
          .dropout = 0.0F,
          .start = &start};
}

Model start_of(Architecture architecture, std::size_t depth, bool normalize_rows) {
  Model model = random_model(architecture, Precision::real, 40, 20, 3, depth, 7);
  model.normalize_rows = normalize_rows;
  return model;
}

TEST(Train, AFloatModelGoesOnFromAnother) {
  const Dataset dataset = planted();
  for (const Architecture architecture : architectures) {
    for (const std::size_t depth : {2U, 3U}) {
      for (const bool normalize_rows : {false, true}) {
        SCOPED_TRACE(std::string(to_string(architecture)) + " " + std::to_string(depth));
        const Model start = start_of(architecture, depth, normalize_rows);
        const Model model = train(dataset, standing_still(start, Precision::real, depth)).model;
        EXPECT_EQ(model.normalize_rows, normalize_rows);
        InferencePlan expected(start, dataset);
        InferencePlan actual(model, dataset);
        const auto wanted = expected.run().values(), found = actual.run().values();
        for (std::size_t n = 0; n < wanted.size(); ++n) ASSERT_NEAR(found[n], wanted[n], 1e-4F);
      }
    }
  }
}

TEST(Train, ABinaryModelStartsFromTheSignsOfAFloatModel) {
  const Dataset dataset = planted();
  for (const Architecture architecture : architectures) {
    for (const Precision precision : {Precision::full, Precision::bin}) {
      for (const std::size_t depth : {2U, 3U}) {
        SCOPED_TRACE(std::string(to_string(architecture)) + " " + std::string(to_string(precision)));
        const Model start = start_of(architecture, depth, false);
        const Model model = train(dataset, standing_still(start, precision, depth)).model;
        for (std::size_t l = 0; l < model.layers.size(); ++l) {
          for (const auto linear : {&Layer::neighbor, &Layer::root}) {
            const Linear& bits = model.layers[l].*linear;
            if (bits.empty()) continue;
            const DenseMatrix<float>& weight = (start.layers[l].*linear).floats();
            ASSERT_EQ(bits.signs().bits.nrows(), weight.nrows());
            for (std::size_t i = 0; i < weight.nrows(); ++i) {
              for (std::size_t j = 0; j < weight.ncols(); ++j)
                ASSERT_EQ(bits.signs().bits.value(i, j) > 0, weight(i, j) >= 0) << i << ", " << j;
            }
          }
        }
      }
    }
  }
}

TEST(Train, AStartThatDoesNotFitIsRefused) {
  const Dataset dataset = planted();
  const auto refused = [&](const Model& start, const TrainOptions& options, const std::string& message) {
    TrainOptions with = options;
    with.start = &start;
    test::expect_bad_input([&] { static_cast<void>(train(dataset, with)); }, "train: the starting weights " + message);
  };
  const TrainOptions options{.precision = Precision::real, .hidden = 20, .epochs = 1};
  refused(random_model(Architecture::gcn, Precision::full, 40, 20, 3, 2, 7), options,
          "are of a full model, expected a float model");
  refused(start_of(Architecture::sage, 2, false), options, "are of sage, expected gcn");
  refused(start_of(Architecture::gcn, 3, false), options, "have 3 layers, expected 2");
  refused(random_model(Architecture::gcn, Precision::real, 40, 12, 3, 2, 7), options,
          "of layer 0 are 12 x 40, expected 20 x 40");
}

TEST(Train, ACheckpointOfAnotherStartIsRefused) {
  const test::TemporaryFolder folder;
  const Dataset dataset = planted();
  const Model start = start_of(Architecture::gcn, 2, false);
  TrainOptions options = standing_still(start, Precision::full, 2);
  options.checkpoint = folder / "run.ckpt";
  static_cast<void>(train(dataset, options));
  static_cast<void>(train(dataset, options));  // the same start: it goes on
  options.start = nullptr;
  test::expect_bad_input([&] { static_cast<void>(train(dataset, options)); },
                         options.checkpoint.string() + ": a checkpoint of another run: start is '" +
                             start.fingerprint() + "', expected 'drawn': remove it, or give this run another");
}

TEST(Train, ACheckpointKnowsWhetherGivenModelsDivideFeaturesByTheirSum) {
  const Dataset dataset = planted();
  for (const bool teacher : {false, true}) {
    const char* const role = teacher ? "teacher" : "start";
    SCOPED_TRACE(role);
    const test::TemporaryFolder folder;
    Model given = start_of(Architecture::gcn, 2, false);
    TrainOptions options = standing_still(given, teacher ? Precision::full : Precision::real, 2);
    options.start = teacher ? nullptr : &given;
    options.teacher = teacher ? &given : nullptr;
    options.checkpoint = folder / "run.ckpt";
    static_cast<void>(train(dataset, options));
    static_cast<void>(train(dataset, options));
    given.normalize_rows = true;
    test::expect_bad_input([&] { static_cast<void>(train(dataset, options)); },
                           options.checkpoint.string() + ": a checkpoint of another run: " + role + " is '" +
                               given.fingerprint() + "', expected '" + given.fingerprint() +
                               ", rows normalized': remove it, or give this run another");
  }
}

TEST(Train, ATeacherThatIsTrainedFirstIsReported) {
  const Dataset dataset = planted();
  for (const bool given : {false, true}) {
    const Model teacher = start_of(Architecture::sage, 2, false);
    std::size_t of_teacher = 0;
    std::size_t own = 0;
    const TrainResult result = train(dataset,
                                     {.precision = Precision::bin,
                                      .architecture = Architecture::sage,
                                      .hidden = 8,
                                      .epochs = 3,
                                      .teacher = given ? &teacher : nullptr},
                                     {}, [&](const EpochReport& report) {
                                       EXPECT_TRUE(own == 0 || !report.of_teacher);
                                       ++(report.of_teacher ? of_teacher : own);
                                     });
    EXPECT_EQ(own, 3U);
    EXPECT_EQ(of_teacher, given ? 0U : 3U);
    EXPECT_EQ(result.teacher_seconds > 0, !given);
  }
}

}  // namespace
}  // namespace bitgraph::nn
