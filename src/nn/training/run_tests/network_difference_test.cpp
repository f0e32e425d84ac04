// SPDX-License-Identifier: Apache-2.0
// Gradients of each float network beside differences of the loss that training tells, tensor by tensor, dropout on:
// masks depend on the epoch alone.
#include "support/network_cases.hpp"

#include <bitgraph/core/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::DoubleMatrix;
using test::DrawnRun;
using test::FeatureKind;
using test::NetworkCase;

/// Steps too small to change a value; the first moments then have a tenth of the gradients.
NetworkCase held(NetworkCase network) {
  network.learning_rate = 1e-30F;
  network.weight_decay = 0;
  return network;
}

double loss_of(DrawnRun& drawn) {
  for (test::RunTensor& tensor : drawn.run.tensors)
    std::fill(tensor.first_moment.values.begin(), tensor.first_moment.values.end(), 0.0);
  return drawn.run.train_epoch(drawn.network.epoch()).train_loss;
}

DoubleMatrix moved(const DoubleMatrix& value, const DoubleMatrix& direction, double step) {
  return mapped(value, [&](std::size_t i, std::size_t j) { return value(i, j) + step * direction(i, j); });
}

/// A direction for tensor p, along which no hidden unit is turned on or off: there a difference is no slope. Empty:
/// many were tried, none was found.
DoubleMatrix smooth_direction(const DrawnRun& drawn, const test::OracleStep& last_batch, std::size_t p, double step) {
  const DoubleMatrix& value = drawn.run.tensors[p].value;
  const auto units_on = [&](DoubleMatrix at) {
    test::NetworkOracle oracle = drawn.oracle();
    oracle.tensors[p].value = std::move(at);
    oracle.step(last_batch);
    return oracle.units_on();
  };
  DoubleMatrix direction = value;
  for (std::uint32_t attempt = 0; attempt < 100; ++attempt) {
    for (std::size_t n = 0; n < value.values.size(); ++n) {
      const RandomKey key{drawn.network.seed, 50 + attempt, static_cast<std::uint32_t>(p)};
      direction.values[n] = 2 * random_uniform(key, n) - 1;
    }
    if (units_on(moved(value, direction, step)) == units_on(moved(value, direction, -step))) return direction;
  }
  return {};
}

/// The slope of each tensor in a direction of its own, by its gradient and by a difference, `of_loss` being what the
/// objective is of the loss that training tells. Returns false where hidden units are in the way.
bool check_slopes(DrawnRun& drawn, double of_loss) {
  SCOPED_TRACE(drawn.network.name());
  test::OracleBatches batches = drawn.batches();
  const test::OracleStep last_batch = batches.step(drawn.network.epoch(), batches.batches() - 1);
  for (std::size_t p = 0; p < drawn.run.tensors.size(); ++p) {
    constexpr double step = 5e-4;
    const DoubleMatrix direction = smooth_direction(drawn, last_batch, p, step);
    if (direction.empty()) return false;
    loss_of(drawn);
    test::RunTensor& tensor = drawn.run.tensors[p];
    double slope = 0, squares = 0;
    for (std::size_t n = 0; n < direction.values.size(); ++n) {
      const double gradient = 10 * tensor.first_moment.values[n];
      slope += direction.values[n] * gradient;
      squares += gradient * gradient;
    }
    const DoubleMatrix value = tensor.value;
    tensor.value = moved(value, direction, step);
    const double above = loss_of(drawn);
    tensor.value = moved(value, direction, -step);
    const double difference = of_loss * (above - loss_of(drawn)) / (2 * step);
    tensor.value = value;
    // One hundredth of what a random direction gives on average, and the rounding of the loss.
    EXPECT_NEAR(slope, difference, 0.01 * std::sqrt(squares / 3) + 2e-4 * of_loss) << tensor.name;
  }
  return true;
}

void check_with_a_seed(NetworkCase network) {
  for (network.seed = 1; network.seed <= 10; ++network.seed) {
    DrawnRun drawn(held(network));
    if (check_slopes(drawn, 1)) return;
  }
  FAIL() << network.name() << ": hidden units are in the way of each of ten draws";
}

TEST(NetworkDifference, WholeGraphGcn) {
  for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::mixed, FeatureKind::dense}) {
    for (const std::size_t depth : {2U, 3U}) check_with_a_seed({.features = kind, .depth = depth});
  }
}

TEST(NetworkDifference, JumpingKnowledge) {
  for (const Architecture architecture : {Architecture::gcn, Architecture::sage, Architecture::gin})
    check_with_a_seed({.architecture = architecture, .depth = 3, .jumping_knowledge = true, .batch_size = 1000});
}

TEST(NetworkDifference, Gin) {
  for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::mixed, FeatureKind::dense}) {
    for (const std::size_t depth : {2U, 3U})
      check_with_a_seed({.architecture = Architecture::gin, .features = kind, .depth = depth});
  }
}

/// One batch of all training nodes, with neighbours drawn for each.
TEST(NetworkDifference, SamplesOfNeighbours) {
  for (const Architecture architecture :
       {Architecture::inductive_gcn, Architecture::sage, Architecture::inductive_gin}) {
    for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::mixed, FeatureKind::dense}) {
      for (const std::size_t depth : {2U, 3U}) {
        check_with_a_seed({.architecture = architecture, .features = kind, .depth = depth, .batch_size = 1000});
      }
    }
  }
}

/// Nodes of an epoch's last batch that no batch before had, each with its weight in the loss.
struct LastOnly {
  std::vector<NodeId> nodes;
  std::vector<double> weights;
  std::size_t batches = 0;

  explicit LastOnly(const DrawnRun& drawn) {
    test::OracleBatches source = drawn.batches();
    batches = source.batches();
    std::vector<bool> met(drawn.dataset.graph.nrows(), false);
    for (std::size_t n = 0; n < batches; ++n) {
      const test::OracleStep step = source.step(drawn.network.epoch(), n);
      for (std::size_t i = 0; i < step.labels.size(); ++i) {
        const NodeId node = source.step_nodes()[i];
        if (n + 1 == batches && !met[node] && step.labels[i] >= 0) {
          nodes.push_back(node);
          weights.push_back(step.loss_weight[i]);
        }
        met[node] = true;
      }
    }
  }
};

/// Training tells the mean loss without the nodes' weights, and the first moments have the gradients of all batches. So
/// one node alone has a label, and is in the last batch alone: the gradient is its weight times that of its loss, and
/// the loss of the epoch is its own over the number of batches.
TEST(NetworkDifference, Saint) {
  for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::mixed, FeatureKind::dense}) {
    for (const std::size_t depth : {2U, 3U}) {
      const NetworkCase network{.architecture = Architecture::saint, .features = kind, .depth = depth};
      const LastOnly last(DrawnRun{network});
      std::size_t checked = 0;
      for (std::size_t n = 0; n < last.nodes.size() && checked < 4; ++n) {
        Dataset dataset = test::planted_data({.kind = kind, .seed = network.seed});
        for (const NodeId node : dataset.train)
          if (node != last.nodes[n]) dataset.labels[node] = -1;
        const double of_loss = last.weights[n] * static_cast<double>(last.batches);
        DrawnRun drawn(held(network), std::move(dataset));
        checked += check_slopes(drawn, of_loss) ? 1 : 0;
      }
      EXPECT_GE(checked, 2U) << network.name();
    }
  }
}

}  // namespace
}  // namespace bitgraph::nn
