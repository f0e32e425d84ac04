// SPDX-License-Identifier: Apache-2.0
// Models that classify graphs: plans beside plain arithmetic, files, what is refused, training.
#include <bitgraph/core/random.hpp>
#include <bitgraph/formats/partition.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/quantize.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/nn/tune.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include "nn/model/random_model.hpp"
#include "nn/sampling/parts/seen_part.hpp"
#include "nn/sampling/training_source.hpp"
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/graph_sets.hpp"
#include "support/near_logits.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::expect_bad_input;
using test::expect_error;
using test::expect_near;
using test::rings_and_stars;
using Floats = DenseMatrix<float>;

Model graph_model(Architecture architecture, const Precision& precision, bool jumping = false,
                  std::uint64_t seed = 11) {
  Model model = random_model(architecture, precision, 70, 65, 2, 2, seed, jumping);
  model.readout = true;
  return model;
}

const Dataset& data() {
  static const Dataset set = rings_and_stars({.graphs = 50, .features = 70});
  return set;
}

/// The forms that a model can run in as a whole.
std::vector<Precision> forms_of(const Model& model) {
  if (model.precision == Precision::real) return {Precision::real};
  return {Precision::full, Precision::bin};
}

template <class Fn>
void for_each_model(Fn&& fn) {
  for (const Architecture architecture : {Architecture::gcn, Architecture::gin}) {
    for (const Precision& precision : {Precision::real, Precision::bin}) {
      for (const bool jumping : {false, true}) {
        const Model model = graph_model(architecture, precision, jumping);
        for (const Precision& form : forms_of(model)) {
          SCOPED_TRACE(std::string(to_string(architecture)) + (jumping ? " jumping " : " ") + to_string(form));
          fn(model, model.layer_forms(form));
        }
      }
    }
  }
}

void check_plans(const Device& device) {
  for_each_model([&](const Model& model, const std::vector<Precision>& forms) {
    const Floats expected = emulate(model, data(), forms);
    ASSERT_EQ(expected.nrows(), 50U);
    for (const Order order : {Order::original, Order::degree}) {
      InferencePlan plan(model, data(), {.forms = forms, .order = order}, device);
      EXPECT_EQ(plan.steps().back(), "READOUT");
      expect_near(plan.run().to(Device()), expected);
    }
  });
}

TEST(GraphClassification, PlansMatchPlainArithmetic) { check_plans(Device::host(2)); }

TEST(GraphClassification, PlansOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  check_plans(*test::cuda_device());
}

/// A graph has the logits that it has alone: neither its neighbours in the list nor its place count.
TEST(GraphClassification, GraphsDoNotSeeEachOther) {
  const Model model = graph_model(Architecture::gin, Precision::real);
  InferencePlan plan(model, data(), {.forms = model.layer_forms(Precision::real)}, Device::host(1));
  const Floats all = plan.run().clone();
  for (const NodeId g : {0U, 17U, 49U}) {
    const NodeId first = data().first_node[g], last = data().first_node[g + 1];
    Dataset one{.name = "one", .num_classes = 2};
    std::vector<NodeId> from, to;
    one.dense_features = Floats(last - first, 70);
    for (NodeId i = first; i < last; ++i) {
      for (const NodeId j : data().graph.row(i)) {
        from.push_back(i - first);
        to.push_back(j - first);
      }
      for (const NodeId j : data().features.pattern.row(i)) one.dense_features(i - first, j) = 1;
    }
    one.graph = csr_from_edges(last - first, last - first, from, to);
    one.features = sparse_features(one.dense_features);
    one.dense_features = {};
    one.first_node = {0, last - first};
    one.labels = {0};
    InferencePlan alone(model, one, {.forms = model.layer_forms(Precision::real)}, Device::host(1));
    const Floats& logits = alone.run();
    for (std::size_t c = 0; c < 2; ++c) EXPECT_NEAR(logits(0, c), all(g, c), 1e-5F * std::abs(all(g, c)) + 1e-5F);
  }
}

/// Features are of any size, so that hardly a value lies halfway between two levels, where it may become the one or the
/// other: it is enough that one of three models has none such.
TEST(GraphClassification, LevelsMatchPlainArithmetic) {
  Dataset set = rings_and_stars({.graphs = 10, .features = 70});
  for (std::size_t e = 0; e < set.features.values.size(); ++e) set.features.values[e] += random_uniform({1, 2, 3}, e);
  for (const Architecture architecture : {Architecture::gcn, Architecture::gin}) {
    for (const bool jumping : {false, true}) {
      for (const char* bits : {"w8a8", "w4a4", "w2a3m5"}) {
        SCOPED_TRACE(std::string(to_string(architecture)) + " " + bits + (jumping ? " jumping" : ""));
        float least = INFINITY;
        for (const std::uint64_t seed : {11U, 12U, 13U}) {
          const Model model = quantize(graph_model(architecture, Precision::real, jumping, seed), set,
                                       {.precision = precision_from_string(bits)});
          EXPECT_TRUE(model.readout);
          InferencePlan plan(model, set, {}, Device::host(2));
          least = std::min(least, test::distance(plan.run(), emulate(model, set, model.layer_forms(model.precision))));
        }
        EXPECT_LT(least, 1e-4F);
      }
    }
  }
}

TEST(GraphClassification, FilesRemember) {
  const test::TemporaryFolder folder;
  for_each_model([&](const Model& model, const std::vector<Precision>& forms) {
    model.save(folder / "model.safetensors");
    const Model read = Model::load(folder / "model.safetensors");
    EXPECT_TRUE(read.readout);
    expect_near(emulate(read, data(), forms), emulate(model, data(), forms));
  });
}

TEST(GraphClassification, MemoryIsPredicted) {
  const Dataset set = rings_and_stars({.graphs = 500, .features = 70});
  for_each_model([&](const Model& model, const std::vector<Precision>& forms) {
    for (const Order order : {Order::original, Order::degree}) {
      const Device own = Device::host(1);
      InferencePlan plan(model, set, {.forms = forms, .order = order}, own);
      plan.run();
      EXPECT_NEAR(static_cast<double>(plan.predicted().bytes), static_cast<double>(own.memory().peak),
                  0.02 * static_cast<double>(own.memory().peak));
    }
  });
}

TEST(GraphClassification, RefusesWhatDoesNotFit) {
  const Model model = graph_model(Architecture::gin, Precision::real);
  Dataset nodes = rings_and_stars({.graphs = 50, .features = 70});
  nodes.first_node.clear();
  nodes.labels.assign(nodes.graph.nrows(), 0);
  expect_bad_input([&] { model.require_fit(nodes); }, "the model classifies graphs, the data set rings has one graph");
  const Model of_nodes = random_model(Architecture::gin, Precision::real, 70, 65, 2, 2, 11);
  expect_bad_input([&] { of_nodes.require_fit(data()); },
                   "the model classifies nodes, the data set rings has 50 graphs");
  expect_bad_input([] { graph_model(Architecture::sage, Precision::real).validate(); },
                   "the model: it classifies graphs: expected a gcn or a gin, without a network of its own");
  const Partition one(std::vector<NodeId>(data().graph.nrows(), 0), 1);
  expect_error([&] { InferencePlan(model, data(), {.partition = &one}); }, ErrorCode::usage,
               "a plan over the parts of a partition: the model classifies graphs, which are not cut");
  InferencePlan plan(model, data(), {.capacity = {1000, 10000}}, Device::host(1));
  const std::string what = "a plan over many graphs takes other features, no other nodes and edges: make a new one";
  expect_error([&] { plan.set_graph(data().graph.clone()); }, ErrorCode::not_possible, what);
  expect_error([&] { plan.add_nodes(1); }, ErrorCode::not_possible, what);
  expect_error([&] { plan.add_edges(std::vector<NodeId>{0}, std::vector<NodeId>{2}); }, ErrorCode::not_possible, what);
  plan.set_features(Floats(data().graph.nrows(), 70));
  EXPECT_EQ(plan.run().nrows(), 50U);
}

Dataset to_learn() {
  Dataset set = rings_and_stars({.graphs = 200});
  inductive_split(set, {.train = 0.6, .validation = 0.2, .test = 0.2}, 1);
  return set;
}

TrainOptions options_of(const Precision& precision) {
  return {.precision = precision, .architecture = Architecture::gin, .hidden = 16, .epochs = 60, .batch_size = 20};
}

double test_accuracy(const Model& model, const Dataset& set) {
  InferencePlan plan(model, set, {}, Device::host(1));
  return score(plan.run(), set.labels, set.test).accuracy();
}

TEST(GraphClassification, LearnsWhatNodesAloneDoNotTell) {
  if (test::sanitized) GTEST_SKIP() << "many epochs";
  const Dataset set = to_learn();
  for (const char* precision : {"float", "w8a8", "w4a4"}) {
    const TrainResult trained = train(set, options_of(precision_from_string(precision)), Device::host(2));
    EXPECT_TRUE(trained.model.readout);
    EXPECT_GE(test_accuracy(trained.model, set), 0.95) << precision;
    EXPECT_GE(trained.validation_accuracy, 0.95) << precision;
  }
}

/// What training reports of the validation graphs is what inference gives.
TEST(GraphClassification, ReportsWhatTheModelDoes) {
  const Dataset set = to_learn();
  for (const char* precision : {"float", "w4a4", "full"}) {
    TrainOptions options = options_of(precision_from_string(precision));
    options.epochs = 5;
    const TrainResult trained = train(set, options, Device::host(1));
    InferencePlan plan(trained.model, set, {}, Device::host(1));
    const Score found = score(plan.run(), set.labels, set.validation);
    EXPECT_NEAR(found.accuracy(), trained.validation_accuracy, 1e-9) << precision;
    // Features stay floats where levels are trained.
    const double most = trained.model.has_levels() ? 0.05 : 1e-3;
    EXPECT_NEAR(found.loss, trained.validation_loss, most * (1 + trained.validation_loss)) << precision;
  }
}

/// Training sees the graphs for training alone: nothing of the others but validation labels and logits, which choose
/// the epoch.
TEST(GraphClassification, TestGraphsAreNotSeen) {
  const Dataset set = to_learn();
  Dataset other = to_learn();
  for (const NodeId g : other.test) {
    other.labels[g] = 1 - other.labels[g];
    for (const NodeId node : other.nodes_of({g})) {
      for (EdgeOffset e = other.features.pattern.row_ptr()[node]; e < other.features.pattern.row_ptr()[node + 1]; ++e)
        other.features.values[e] = static_cast<float>(1 + e % 3);
    }
  }
  TrainOptions options = options_of(Precision::real);
  options.epochs = 5;
  for (const std::size_t graphs_of_a_batch : {20U, 1000U}) {
    options.batch_size = graphs_of_a_batch;
    EXPECT_EQ(train(set, options, Device::host(1)).model.fingerprint(),
              train(other, options, Device::host(1)).model.fingerprint());
  }
}

TEST(GraphClassification, TrainingGoesOnFromAModel) {
  const Dataset set = to_learn();
  TrainOptions options = options_of(Precision::real);
  options.epochs = 30;
  const TrainResult first = train(set, options, Device::host(1));
  options.start = &first.model;
  options.epochs = 1;
  options.learning_rate = 1e-9F;
  options.dropout = 0.0F;
  const TrainResult second = train(set, options, Device::host(1));
  EXPECT_NEAR(second.validation_loss, first.validation_loss, 1e-3 * (1 + first.validation_loss));
}

TEST(GraphClassification, PresetsCountGraphs) {
  const auto of = [](std::size_t graphs, std::optional<std::size_t> batch) {
    return preset({.precision = Precision::real, .architecture = Architecture::gin, .batch_size = batch},
                  {.training_nodes = graphs, .training_graphs = graphs});
  };
  const TrainOptions some = of(900, {});
  EXPECT_EQ(some.batch_size, 128U);
  EXPECT_EQ(some.epochs, 285U);  // 2,000 steps of 7 whole batches
  EXPECT_EQ(some.patience, 0U);
  EXPECT_FLOAT_EQ(*some.weight_decay, 1e-3F);
  EXPECT_EQ(of(8000, {}).epochs, 32U);
  EXPECT_EQ(of(8000, 16).epochs, 30U);
  EXPECT_EQ(of(20, {}).epochs, 300U);
}

/// Batches cover each graph once an epoch, in an order of the epoch's; a batch of all is the whole data set.
TEST(GraphClassification, BatchesTakeEachGraphOnce) {
  const Dataset set = rings_and_stars({.graphs = 50});
  const Dataset seen = graphs_of(set, [] {
    std::vector<NodeId> all(50);
    std::iota(all.begin(), all.end(), NodeId{0});
    return all;
  }());
  EXPECT_EQ(seen.graph, set.graph);
  EXPECT_EQ(seen.first_node, set.first_node);
  const TrainOptions options =
      preset({.precision = Precision::real, .architecture = Architecture::gin, .batch_size = 16},
             {.training_nodes = 50, .training_graphs = 50});
  const Model metadata{.architecture = Architecture::gin, .precision = Precision::real, .readout = true};
  const Floats teacher = [] {
    Floats rows(50, 2);
    for (std::size_t g = 0; g < 50; ++g) rows(g, 0) = static_cast<float>(g);
    return rows;
  }();
  const auto source = make_training_source(seen, options, metadata, 1, teacher.clone(), Device::host(1));
  ASSERT_EQ(source->batches(), 4U);
  std::vector<std::vector<NodeId>> orders;
  for (const std::size_t epoch : {1U, 2U, 1U}) {
    std::vector<NodeId>& order = orders.emplace_back();
    for (std::size_t n = 0; n < 4; ++n) {
      const TrainingBatch& batch = source->batch(epoch, n);
      ASSERT_EQ(batch.labels.size(), n == 3 ? 2U : 16U);
      EXPECT_EQ(batch.counted.size(), batch.labels.size());
      NodeId row = 0;
      for (std::size_t g = 0; g < batch.labels.size(); ++g) {
        const auto graph = static_cast<NodeId>(batch.taught(g, 0));
        EXPECT_EQ(batch.labels[g], set.labels[graph]);
        const NodeId nodes = set.first_node[graph + 1] - set.first_node[graph];
        ASSERT_EQ(batch.readout->pattern.row(static_cast<NodeId>(g)).size(), nodes);
        for (NodeId i = 0; i < nodes; ++i, ++row) {
          const NodeId of_set = set.first_node[graph] + i;
          EXPECT_EQ(batch.graphs[0]->pattern.row(row).size(), set.graph.row(of_set).size() + 1);
          EXPECT_EQ(batch.sparse->pattern.row(row).size(), set.features.pattern.row(of_set).size());
        }
        order.push_back(graph);
      }
    }
  }
  EXPECT_EQ(orders[0], orders[2]);
  EXPECT_NE(orders[0], orders[1]);
  for (std::vector<NodeId>& order : orders) {
    std::ranges::sort(order);
    for (NodeId g = 0; g < 50; ++g) EXPECT_EQ(order[g], g);
  }
}

TEST(GraphClassification, TrainingSaysWhatItCannotDo) {
  const Dataset set = to_learn();
  TrainOptions options = options_of(Precision::real);
  options.architecture = Architecture::sage;
  expect_error([&] { (void)train(set, options); }, ErrorCode::usage,
               "train: rings has many graphs, and sage learns from samples of one: expected gcn or gin");
  options.architecture = Architecture::gin;
  const Partition one(std::vector<NodeId>(set.graph.nrows(), 0), 1);
  options.partition = &one;
  expect_error([&] { (void)train(set, options); }, ErrorCode::usage,
               "train: graphs are classified whole, a partition cuts them");
  options.partition = nullptr;
  options.architecture = Architecture::gcn;
  options.depth = 1;
  options.precision = Precision::full;
  expect_error([&] { (void)train(set, options); }, ErrorCode::usage,
               "train: graphs in bits need a second layer: give a depth of at least 2, or jumping knowledge");
}

TEST(GraphClassification, IsTuned) {
  const Dataset set = to_learn();
  TrainOptions options = options_of(Precision::real);
  options.epochs = 5;
  const Model model = train(set, options, Device::host(1)).model;
  const Model* const models = &model;
  const TuneReport report = tune(*models, set, {.seconds = 300, .repeats = 1}, Device::host(1));
  EXPECT_GT(report.candidates.size(), 1U);
}

}  // namespace
}  // namespace bitgraph::nn
