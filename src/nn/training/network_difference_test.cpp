// SPDX-License-Identifier: Apache-2.0
// Gradients of each float network beside differences of the loss that its trainer tells, tensor by tensor, dropout on:
// masks depend on the epoch alone.
#include "support/network_cases.hpp"

#include <bitgraph/core/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::DrawnTrainer;
using test::FeatureKind;
using test::NetworkCase;

/// A step of rate 0 leaves the values as they are.
double loss_of(const DrawnTrainer& drawn) { return drawn.trainer->train_epoch(drawn.network.epoch(), 0); }

using Floats = DenseMatrix<float>;

Floats moved(const Floats& value, const Floats& direction, float step) {
  Floats out = value.clone();
  for (std::size_t n = 0; n < out.values().size(); ++n) out.values()[n] += step * direction.values()[n];
  return out;
}

/// A direction for tensor p, along which no hidden unit is turned on or off: there a difference is no slope. 0 x 0:
/// many were tried, none was found.
Floats smooth_direction(const DrawnTrainer& drawn, const test::OracleStep& last_batch, std::size_t p, float step) {
  Parameter& parameter = drawn.trainer->parameters()[p];
  const Floats value = parameter.value.clone();
  const auto units_on = [&](const Floats& at) {
    parameter.value = at.clone();
    test::NetworkOracle oracle = drawn.oracle();
    oracle.step(last_batch);
    parameter.value = value.clone();
    return oracle.units_on();
  };
  Floats direction = value.clone();
  for (std::uint32_t attempt = 0; attempt < 100; ++attempt) {
    for (std::size_t n = 0; n < value.values().size(); ++n) {
      const RandomKey key{drawn.network.seed, 50 + attempt, static_cast<std::uint32_t>(p)};
      direction.values()[n] = 2 * random_uniform(key, n) - 1;
    }
    if (units_on(moved(value, direction, step)) == units_on(moved(value, direction, -step))) return direction;
  }
  return {};
}

/// The slope of each tensor in a direction of its own, by its gradient and by a difference, `of_loss` being what the
/// objective is of the loss that the trainer tells. Returns false where hidden units are in the way.
bool check_slopes(const DrawnTrainer& drawn, double of_loss) {
  SCOPED_TRACE(drawn.network.name());
  test::OracleBatches batches = drawn.batches();
  const test::OracleStep last_batch = batches.step(drawn.network.epoch(), batches.batches() - 1);
  for (std::size_t p = 0; p < drawn.trainer->parameters().size(); ++p) {
    Parameter& parameter = drawn.trainer->parameters()[p];
    constexpr float step = 5e-4F;
    const Floats direction = smooth_direction(drawn, last_batch, p, step);
    if (direction.nrows() == 0) return false;
    loss_of(drawn);
    double slope = 0, squares = 0;
    for (std::size_t n = 0; n < direction.values().size(); ++n) {
      slope += direction.values()[n] * parameter.gradient.values()[n];
      squares += std::pow(parameter.gradient.values()[n], 2);
    }
    const Floats value = parameter.value.clone();
    parameter.value = moved(value, direction, step);
    const double above = loss_of(drawn);
    parameter.value = moved(value, direction, -step);
    const double difference = of_loss * (above - loss_of(drawn)) / (2 * static_cast<double>(step));
    parameter.value = value.clone();
    // One hundredth of what a random direction gives on average, and the rounding of the loss.
    EXPECT_NEAR(slope, difference, 0.01 * std::sqrt(squares / 3) + 2e-4 * of_loss) << parameter.name;
  }
  return true;
}

void check_with_a_seed(NetworkCase network) {
  for (network.seed = 1; network.seed <= 10; ++network.seed) {
    if (check_slopes(DrawnTrainer(network), 1)) return;
  }
  FAIL() << network.name() << ": hidden units are in the way of each of ten draws";
}

TEST(NetworkDifference, WholeGraphGcn) {
  for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::mixed, FeatureKind::dense}) {
    for (const std::size_t depth : {2U, 3U}) check_with_a_seed({.features = kind, .depth = depth});
  }
}

/// One batch of all training nodes, with neighbours drawn for each.
TEST(NetworkDifference, InductiveGcnAndSage) {
  for (const Architecture architecture : {Architecture::inductive_gcn, Architecture::sage}) {
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

  explicit LastOnly(const DrawnTrainer& drawn) {
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

/// A trainer tells the mean loss without the nodes' weights, and leaves the gradient of the last batch. So one node
/// alone has a label: the gradient is its weight times that of its loss, and the loss of the epoch is its own over the
/// number of batches.
TEST(NetworkDifference, Saint) {
  for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::mixed, FeatureKind::dense}) {
    for (const std::size_t depth : {2U, 3U}) {
      const NetworkCase network{.architecture = Architecture::saint, .features = kind, .depth = depth};
      const LastOnly last(DrawnTrainer{network});
      std::size_t checked = 0;
      for (std::size_t n = 0; n < last.nodes.size() && checked < 4; ++n) {
        Dataset dataset = test::planted_data({.kind = kind, .seed = network.seed});
        for (NodeId node = 0; node < dataset.graph.nrows(); ++node)
          if (node != last.nodes[n]) dataset.labels[node] = -1;
        const double of_loss = last.weights[n] * static_cast<double>(last.batches);
        checked += check_slopes(DrawnTrainer(network, std::move(dataset)), of_loss) ? 1 : 0;
      }
      EXPECT_GE(checked, 2U) << network.name();
    }
  }
}

}  // namespace
}  // namespace bitgraph::nn
