// SPDX-License-Identifier: Apache-2.0
// An epoch of each network in each form, done again in plain double arithmetic by tests/support/network_oracle.hpp: the
// loss, Adam's moments, which have the gradients, and all tensors. And the model that the network becomes.
#include "nn/model/architectures.hpp"
#include "support/network_cases.hpp"

#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/sampling.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::DoubleMatrix;
using test::FeatureKind;
using test::NetworkCase;

/// Of the largest element of a tensor. Trainers add up in floats.
constexpr double moment_tolerance = 1e-5;
/// In floats 1 - 0.999 is wrong by 5e-5 of it.
constexpr double square_tolerance = 1e-4;
/// Of a value after some steps of 0.02 each.
constexpr double value_tolerance = 1e-5;

void expect_near(const DoubleMatrix& actual, const DoubleMatrix& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(actual.nrows, expected.nrows) << what;
  ASSERT_EQ(actual.ncols, expected.ncols) << what;
  double largest = 0;
  for (const double value : expected.values) largest = std::max(largest, std::fabs(value));
  for (std::size_t n = 0; n < expected.values.size(); ++n)
    ASSERT_NEAR(actual.values[n], expected.values[n], tolerance * largest + 1e-9) << what << " element " << n;
}

/// The gradient and its decay, of an epoch of one step.
DoubleMatrix slope(const DoubleMatrix& after, const DoubleMatrix& before) {
  return mapped(after, [&](std::size_t i, std::size_t j) { return 10 * after(i, j) - 9 * before(i, j); });
}

/// Validation is a run of the model that train() returns: without dropout.
void expect_report_of_model(const EpochReport& report, const test::DrawnRun& drawn) {
  const TrainResult& result = drawn.run.result();
  EXPECT_EQ(result.best_epoch, report.epoch);
  const DenseMatrix<float> logits = InferencePlan(result.model, drawn.dataset).run().to(Device{});
  const Score of_model = score(logits, drawn.dataset.labels, drawn.dataset.validation);
  EXPECT_NEAR(report.validation_loss, of_model.loss, 1e-5 * (1 + of_model.loss));
  EXPECT_DOUBLE_EQ(report.validation_accuracy, of_model.accuracy());
}

/// One epoch by both; whether all numbers stayed so far from where a rule jumps that both must agree.
bool compare(const NetworkCase& network) {
  test::DrawnRun drawn(network);
  test::OracleBatches batches = drawn.batches();
  test::NetworkOracle oracle = drawn.oracle();
  double loss = 0, steps = 0;
  for (std::size_t n = 0; n < batches.batches(); ++n) {
    const test::OracleStep step = batches.step(network.epoch(), n);
    if (step.counted.empty() && step.taught.empty()) continue;  // parts that there is nothing to learn from
    oracle.step(step);
    oracle.adam(static_cast<double>(network.learning_rate), batches.number(network.epoch(), n));
    loss += oracle.loss();
    ++steps;
  }
  loss /= steps;
  if (oracle.margin() < 1e-5) return false;
  SCOPED_TRACE(network.name());
  const bool many = traits_of(network.architecture).sampled() || network.batch_parts != 0;
  EXPECT_EQ(batches.batches() > 1, many) << "a sampled epoch of one step";
  const std::vector<test::RunTensor> before = drawn.run.tensors;
  const EpochReport report = drawn.run.train_epoch(network.epoch());
  EXPECT_NEAR(report.train_loss, loss, 1e-5 * (1 + loss));
  if (network.second_half) expect_report_of_model(report, drawn);
  for (std::size_t p = 0; p < before.size(); ++p) {
    const test::OracleTensor& expected = oracle.tensors[p];
    const test::RunTensor& actual = drawn.run.tensors[p];
    const std::string& name = actual.name;
    if (!many) {
      const DoubleMatrix& moment = before[p].first_moment;
      expect_near(slope(actual.first_moment, moment), slope(expected.first_moment, moment), 1e-4,
                  "gradient of " + name);
    }
    expect_near(actual.first_moment, expected.first_moment, moment_tolerance, "first moment of " + name);
    expect_near(actual.second_moment, expected.second_moment, square_tolerance, "second moment of " + name);
    expect_near(actual.value, expected.value, value_tolerance, name);
    if (!expected.average.empty()) expect_near(actual.average, expected.average, value_tolerance, "average of " + name);
  }
  return true;
}

/// check(network) with the first seed that it takes, or says that it takes none.
template <class Check>
void with_a_seed(NetworkCase network, const Check& check) {
  for (network.seed = 1; network.seed <= 10; ++network.seed) {
    if (check(network)) return;
  }
  FAIL() << network.name() << ": each of ten draws has a number next to a jump";
}

/// Each form of a network, in both halves of the epochs, with and without a teacher where it may be without.
void check_forms(NetworkCase network) {
  const auto check = [](const NetworkCase& one) { with_a_seed(one, compare); };
  network.precision = Precision::real;
  network.second_half = true;
  for (const bool taught : {false, true}) {
    network.taught = taught;
    check(network);
  }
  for (const Precision& precision : {Precision::full, Precision::bin}) {
    network.precision = precision;
    for (const bool second_half : {false, true}) {
      network.second_half = second_half;
      for (const bool taught : {false, true}) {
        network.taught = taught;
        if (taught || !network.must_be_taught()) check(network);
      }
    }
  }
}

TEST(NetworkStep, WholeGraphGcn) {
  for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::mixed}) check_forms({.features = kind});
}

TEST(NetworkStep, WholeGraphGcnOfThreeLayers) {
  check_forms({.depth = 3});
  check_forms({.features = FeatureKind::dense, .depth = 3});
}

TEST(NetworkStep, WholeGraphGcnOverDenseFeatures) { check_forms({.features = FeatureKind::dense}); }

TEST(NetworkStep, OverPartsOfTheGraph) {
  for (const Architecture architecture : all_architectures())
    check_forms({.architecture = architecture, .batch_parts = 2});
  check_forms({.features = FeatureKind::dense, .batch_parts = 2});
  check_forms({.architecture = Architecture::sage, .features = FeatureKind::mixed, .batch_parts = 1});
  check_forms({.depth = 3, .batch_parts = 1});  // the step of one part without a training node is left out
}

TEST(NetworkStep, InductiveGcn) {
  for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::mixed, FeatureKind::dense})
    check_forms({.architecture = Architecture::inductive_gcn, .features = kind});
}

TEST(NetworkStep, Sage) {
  for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::mixed, FeatureKind::dense})
    check_forms({.architecture = Architecture::sage, .features = kind});
  check_forms({.architecture = Architecture::sage, .depth = 3});
}

TEST(NetworkStep, Saint) {
  for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::mixed, FeatureKind::dense})
    check_forms({.architecture = Architecture::saint, .features = kind});
  check_forms({.architecture = Architecture::saint, .depth = 3});
}

TEST(NetworkStep, SamplesOfAllNodes) {
  for (const Architecture architecture : all_architectures()) {
    if (!traits_of(architecture).sampled()) continue;
    for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::dense})
      check_forms({.architecture = architecture, .features = kind, .sample_from = SampleFrom::all});
    check_forms({.architecture = architecture, .sample_from = SampleFrom::all, .batch_parts = 2});
  }
}

TEST(NetworkStep, JumpingKnowledge) {
  for (const Architecture architecture : all_architectures())
    check_forms({.architecture = architecture, .depth = 2, .jumping_knowledge = true});
}

TEST(NetworkStep, Gin) {
  for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::mixed, FeatureKind::dense})
    for (const Architecture architecture : {Architecture::gin, Architecture::inductive_gin})
      check_forms({.architecture = architecture, .features = kind});
  check_forms({.architecture = Architecture::gin, .depth = 3});
}

/// Nodes from which no walk of so many edges leaves the given ones.
std::vector<bool> deep_inside(const CsrPattern& graph, const std::vector<NodeId>& nodes, std::size_t edges) {
  std::vector<bool> inside(graph.nrows(), false);
  for (const NodeId node : nodes) inside[node] = true;
  for (std::size_t edge = 0; edge < edges; ++edge) {
    const std::vector<bool> before = inside;
    for (NodeId node = 0; node < graph.nrows(); ++node) {
      for (const NodeId neighbor : graph.row(node)) inside[node] = inside[node] && before[neighbor];
    }
  }
  return inside;
}

/// A ring with some chords: short walks come around whole neighbourhoods.
Dataset ring(const NetworkCase& network) {
  Dataset dataset = test::planted_data({.kind = network.features, .train = 72, .seed = network.seed});
  dataset.validation = dataset.train;
  const NodeId n = dataset.graph.nrows();
  std::vector<NodeId> from, to;
  for (NodeId i = 0; i < n; ++i) {
    from.push_back(i), to.push_back((i + 1) % n);
    if (i % 5 == 0) from.push_back(i), to.push_back((i + 2) % n);
  }
  dataset.graph = csr_from_edges(n, n, from, to, {.symmetrize = true});
  return dataset;
}

/// Trained without dropout over whole neighbourhoods of all nodes, a network is the model that it becomes: its logits,
/// by the oracle of a step, are those of a plan, and its loss is the model's. The steps are too small to change it.
bool compare_with_model(const NetworkCase& network) {
  test::DrawnRun drawn(network, ring(network));
  const Dataset& dataset = drawn.dataset;
  test::OracleBatches batches = drawn.batches();
  test::NetworkOracle oracle = drawn.oracle();
  std::vector<std::pair<NodeId, std::vector<double>>> logits_by_oracle;
  double loss = 0;
  for (std::size_t n = 0; n < batches.batches(); ++n) {
    oracle.step(batches.step(network.epoch(), n));
    loss += oracle.loss() / static_cast<double>(batches.batches());
    if (oracle.margin() < 1e-5) return false;
    const std::vector<NodeId> nodes = batches.step_nodes();
    const std::vector<bool> complete = deep_inside(dataset.graph, nodes, network.depth);
    for (std::size_t i = 0; i < oracle.logits().nrows; ++i) {
      if (!complete[nodes[i]]) continue;
      const auto row = oracle.logits().values.begin() + static_cast<std::ptrdiff_t>(i * oracle.logits().ncols);
      logits_by_oracle.emplace_back(nodes[i], std::vector<double>(row, row + dataset.num_classes));
    }
  }
  for (std::size_t p = 0; p < oracle.tensors.size(); ++p) {
    test::RunTensor& tensor = drawn.run.tensors[p];
    if (!tensor.average.empty()) tensor.average = oracle.tensors[p].value;
  }
  SCOPED_TRACE(network.name());
  EXPECT_GE(logits_by_oracle.size(), 5U) << "nodes with all that they are computed from";
  const EpochReport report = drawn.run.train_epoch(network.epoch());
  EXPECT_NEAR(report.train_loss, loss, 1e-5 * (1 + loss));
  expect_report_of_model(report, drawn);
  const DenseMatrix<float> logits = InferencePlan(drawn.run.result().model, dataset).run().to(Device{});
  for (const auto& [node, expected] : logits_by_oracle) {
    for (std::size_t c = 0; c < expected.size(); ++c)
      EXPECT_NEAR(logits(node, c), expected[c], 1e-5 * (1 + std::fabs(expected[c])));
  }
  const double of_model = score(logits, dataset.labels, dataset.train).loss;
  // Of random walks nodes come more than once.
  const double mean = network.architecture == Architecture::saint ? of_model : loss;
  EXPECT_NEAR(mean, of_model, 1e-5 * (1 + of_model));
  return true;
}

TEST(NetworkStep, WithoutDropoutItIsAPassOfTheModel) {
  for (const Architecture architecture : all_architectures()) {
    for (const Precision& precision : {Precision::real, Precision::full, Precision::bin}) {
      for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::mixed, FeatureKind::dense}) {
        for (const std::size_t depth : {2U, 3U}) {
          const NetworkCase network{.architecture = architecture,
                                    .precision = precision,
                                    .features = kind,
                                    .depth = depth,
                                    .second_half = true,
                                    .learning_rate = 1e-30F,
                                    .dropout = 0,
                                    .batch_size = 1000,
                                    .fan_outs = std::vector<std::size_t>(depth, all_neighbors),
                                    .walk_length = 35};
          with_a_seed(network, compare_with_model);
        }
      }
    }
  }
}

}  // namespace
}  // namespace bitgraph::nn
