// SPDX-License-Identifier: Apache-2.0
// Gradients of the operators of a layer: real ones beside differences of the layer in double; binary ones beside the
// rules of docs/architecture.md written out over dense matrices in double.
#include "nn/program/passes/passes.hpp"
#include "nn/training/run/training_run.hpp"
#include "support/cuda_device.hpp"
#include "support/double_matrix.hpp"
#include "support/expect_error.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/formats/block_diagonal.hpp>
#include <bitgraph/ops/dropout.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using Floats = DenseMatrix<float>;

using Matrix = test::DoubleMatrix;
using test::first_of;
using test::flipped;
using test::mapped;
using test::row_mean;
using test::scaled_signs;
using test::sign;
using test::signs_of;
using test::sums_of_columns;
using test::times;
using test::update;
using test::weight_rule;

/// One layer with everything that it is given; 7 targets, 11 inputs, one target without neighbours.
struct Case {
  LayerShape shape;
  Precision form = Precision::real;
  bool last = false, votes = false, centered = false, tanh = false;
  float dropout = 0;
  CsrPattern block = test::random_pattern(7, 11, 0.3, 1);
  Floats x = test::random_dense(11, 9, 2), neighbor = test::random_dense(5, 9, 3), bias = test::random_dense(1, 5, 4),
         root = test::random_dense(5, 9, 5), root_bias = test::random_dense(1, 5, 6),
         center = test::random_dense(1, 9, 11), slope;
  std::uint64_t seed = 7;
  std::uint32_t step = 9;
  std::size_t rows_of_part = 1000;

  /// A weight of the output's elements: the loss is their weighted sum.
  void draw_slope() { slope = test::random_dense(num_targets(), 5, 10); }
  [[nodiscard]] std::size_t num_targets() const { return shape.aggregation == Aggregation::none ? 11 : block.nrows(); }
  [[nodiscard]] std::string name() const {
    return std::to_string(static_cast<int>(shape.aggregation)) + (shape.root ? " root " : " ") +
           std::string(to_string(form)) + (last ? " last" : "") + (votes ? " votes" : "") +
           (centered ? " centered" : "") + (tanh ? " tanh" : "") + (dropout > 0 ? " dropout" : "");
  }
};

/// The aggregation as a dense matrix; `vote`: the mean of the pattern.
Matrix aggregation(const Case& c, bool vote) {
  if (c.shape.aggregation == Aggregation::none) {
    Matrix same(11, 11);
    for (std::size_t i = 0; i < 11; ++i) same(i, i) = 1;
    return same;
  }
  const Aggregation kind = c.shape.aggregation;
  const bool loops =
      kind == Aggregation::symmetric || kind == Aggregation::mean_with_self || kind == Aggregation::sum_with_self;
  Matrix a(c.block.nrows(), 11);
  for (NodeId i = 0; i < c.block.nrows(); ++i) {
    for (const NodeId j : c.block.row(i)) a(i, j) = 1;
    if (loops) a(i, i) = 1;
  }
  std::vector<double> entries(11, 0);
  for (std::size_t i = 0; i < a.nrows; ++i) {
    for (std::size_t j = 0; j < 11; ++j) entries[i] += a(i, j);
  }
  return mapped(a, [&](std::size_t i, std::size_t j) {
    if (a(i, j) == 0) return 0.0;
    if (vote || c.shape.aggregation == Aggregation::mean || c.shape.aggregation == Aggregation::mean_with_self)
      return 1 / entries[i];
    return c.shape.aggregation == Aggregation::symmetric ? 1 / std::sqrt(entries[i] * entries[j]) : 1.0;
  });
}

/// Elements that dropout keeps, with its factor.
Matrix kept(const Case& c) {
  BitMatrix<ZeroOne> keep(11, 9);
  dropout_mask_into(keep, c.dropout, dropout_key({c.seed, 0, c.step}, 0));
  const Matrix x(c.x);
  return mapped(x, [&](auto i, auto j) { return keep.bit(i, j) ? 1.0 / (1.0 - static_cast<double>(c.dropout)) : 0.0; });
}

struct Gradients {
  Matrix x, neighbor, bias, root, root_bias;
};

struct Inputs {
  Matrix x, neighbor, bias, root;
};

/// The loss of a real layer.
double real_loss(const Case& c, const Inputs& in) {
  const Matrix keep = kept(c);
  const Matrix x = mapped(in.x, [&](auto i, auto j) { return in.x(i, j) * keep(i, j); });
  Matrix y = times(aggregation(c, false), times(x, flipped(in.neighbor)));
  const Matrix r = times(first_of(x, c.num_targets()), flipped(in.root));
  double loss = 0;
  for (std::size_t i = 0; i < y.nrows; ++i) {
    for (std::size_t f = 0; f < y.ncols; ++f) {
      y(i, f) += in.bias(0, f) + (c.shape.root ? r(i, f) : 0.0);
      if (!c.last) y(i, f) = c.tanh ? std::tanh(y(i, f)) : std::max(0.0, y(i, f));
      loss += y(i, f) * c.slope(i, f);
    }
  }
  return loss;
}

Gradients real_gradients(const Case& c) {
  Inputs in{Matrix(c.x), Matrix(c.neighbor), Matrix(c.bias), Matrix(c.root)};
  const auto slope = [&](Matrix Inputs::*which) {
    Matrix out = in.*which;
    for (std::size_t n = 0; n < out.values.size(); ++n) {
      constexpr double step = 1e-6;
      double& value = (in.*which).values[n];
      const double at = value;
      value = at + step;
      const double above = real_loss(c, in);
      value = at - step;
      const double below = real_loss(c, in);
      value = at;
      out.values[n] = (above - below) / (2 * step);
    }
    return out;
  };
  return {slope(&Inputs::x), slope(&Inputs::neighbor), slope(&Inputs::bias), slope(&Inputs::root), Matrix(1, 5)};
}

struct BinaryResult {
  Matrix output;
  Gradients gradients;
};

BinaryResult binary_layer(const Case& c) {
  const bool bin = c.form == Precision::bin;
  const Matrix keep = kept(c);
  const Matrix x(c.x), neighbor(c.neighbor), bias(c.bias), root(c.root), root_bias(c.root_bias), slope(c.slope);
  const Matrix input = mapped(x, [&](auto i, auto j) {
    return (c.votes ? 1.0 : row_mean(x, i)) * sign(x(i, j)) * keep(i, j) - (c.centered ? c.center(0, j) : 0.0F);
  });
  const Matrix some = first_of(input, c.num_targets());
  const Matrix updated = update(input, scaled_signs(neighbor), bias);
  const Matrix rooted = update(some, scaled_signs(root), root_bias);
  const Matrix a = aggregation(c, bin);
  Matrix output = times(a, bin ? signs_of(updated) : updated);
  Matrix g_rooted = slope;
  if (c.shape.root) {
    output = mapped(output, [&](auto i, auto f) {
      return bin ? std::max(output(i, f), rooted(i, f)) : output(i, f) + rooted(i, f);
    });
    g_rooted = mapped(slope, [&](auto i, auto f) { return bin && std::fabs(rooted(i, f)) > 1 ? 0.0 : slope(i, f); });
  }
  Matrix g_updated = times(flipped(a), slope);
  if (bin)
    g_updated = mapped(g_updated, [&](auto i, auto f) { return std::fabs(updated(i, f)) > 1 ? 0.0 : g_updated(i, f); });
  Matrix g_input = times(g_updated, signs_of(neighbor));
  if (c.shape.root) {
    const Matrix more = times(g_rooted, signs_of(root));
    for (std::size_t n = 0; n < more.values.size(); ++n) g_input.values[n] += more.values[n];
  }
  g_input = mapped(
      g_input, [&](auto i, auto j) { return c.votes || std::fabs(x(i, j)) <= 1 ? g_input(i, j) * keep(i, j) : 0.0; });
  return {output,
          {g_input, weight_rule(times(flipped(g_updated), input), neighbor), sums_of_columns(g_updated),
           weight_rule(times(flipped(g_rooted), some), root), sums_of_columns(g_rooted)}};
}

void expect_near(const Floats& actual, const Matrix& expected, const char* what) {
  const Floats here = actual.to(Device{});
  ASSERT_EQ(here.values().size(), expected.values.size()) << what;
  double largest = 0;
  for (const double value : expected.values) largest = std::max(largest, std::fabs(value));
  for (std::size_t n = 0; n < expected.values.size(); ++n)
    ASSERT_NEAR(here.values()[n], expected.values[n], 1e-5 * (1 + largest)) << what << " element " << n;
}

/// The layer, with floats in front of its signs, and unless it is the last an activation behind it.
Program program_of(const Case& c) {
  const LayerShape shapes[] = {c.shape};
  const Precision forms[] = {c.form};
  Program program = training_program(shapes, false, forms);
  if (c.form.multiplies_signs()) {
    const ValueId floats = program.add_value({9, {}});
    if (c.votes) program.values[program.features].format = {NumberKind::sign, 1};
    const ValueId signs = std::exchange(program.features, floats);
    for (Operator& op : program.operators) {
      if (op.kind == OperatorKind::dropout) program.values[op.output()].format = program.value(signs).format;
    }
    program.operators.insert(
        program.operators.begin(),
        {.kind = OperatorKind::quantize, .inputs = {floats}, .outputs = {signs}, .straight = c.votes});
  } else if (!c.last) {
    const ValueId rectified = program.add_value(program.value(program.result));
    const OperatorKind activation = c.tanh ? OperatorKind::tanh : OperatorKind::relu;
    program.operators.push_back({.kind = activation, .inputs = {program.result}, .outputs = {rectified}});
    program.result = rectified;
    fold_activations(program);
  }
  program.validate();
  return program;
}

/// Runs the layer on a device and compares with what is expected.
void check(const Case& c, const Device& device) {
  SCOPED_TRACE(c.name() + " on " + device.name());
  const bool real = c.form == Precision::real;
  const Floats x = c.x.to(device), neighbor = c.neighbor.to(device), bias = c.bias.to(device), root = c.root.to(device),
               root_bias = c.root_bias.to(device);
  Floats g_neighbor(5, 9, device), g_bias(1, 5, device), g_root(5, 9, device), g_root_bias(1, 5, device);
  LinearParameters root_map;
  if (c.shape.root) root_map = {&root, real ? nullptr : &root_bias, &g_root, real ? nullptr : &g_root_bias};
  TrainingRun run(program_of(c), {{{&neighbor, &bias, &g_neighbor, &g_bias}, root_map}}, device,
                  {.of_features = true, .rows_of_part = c.rows_of_part});
  TrainingBatch batch;
  if (c.shape.aggregation != Aggregation::none)
    batch.graphs.push_back(std::make_shared<LayerGraph>(c.block, c.shape.aggregation, WholeGraphFacts{}, device));
  const Floats center = c.center.to(device);
  const TrainingInput input{.values = &x, .center = c.centered ? &center : nullptr, .dropout = c.dropout};
  for (int repeat = 0; repeat < 2; ++repeat) {  // what a step before has left does not count
    const Floats& output = run.forward(batch, input, {c.dropout, {c.seed, 0, c.step}});
    if (!real) expect_near(output, binary_layer(c).output, "output");
    run.result_gradient() = c.slope.to(device);
    run.backward();
  }
  const Gradients expected = real ? real_gradients(c) : binary_layer(c).gradients;
  expect_near(run.gradient(run.program().features), expected.x, "input");
  expect_near(g_neighbor, expected.neighbor, "weight");
  expect_near(g_bias, expected.bias, "bias");
  if (!c.shape.root) return;
  expect_near(g_root, expected.root, "root weight");
  if (!real) expect_near(g_root_bias, expected.root_bias, "root bias");
}

template <class Fn>
void for_each_case(Precision form, Fn&& fn) {
  for (const Aggregation aggregation : {Aggregation::none, Aggregation::symmetric, Aggregation::mean_with_self,
                                        Aggregation::mean, Aggregation::sum, Aggregation::sum_with_self}) {
    const bool none = aggregation == Aggregation::none;
    if (none && form == Precision::bin) continue;
    for (const bool root : {false, true}) {
      for (const bool last : {false, true}) {
        for (const float dropout : {0.0F, 0.4F}) {
          Case c{.shape = {aggregation, root && !none, 9, 5}, .form = form, .last = last, .dropout = dropout};
          c.votes = last && form != Precision::real;
          c.centered = !last && form != Precision::real;
          // One normalization for both sides wants one set of nodes.
          if (aggregation == Aggregation::symmetric) c.block = symmetrized(test::random_pattern(11, 11, 0.1, 1));
          c.draw_slope();
          for (float& value : c.x.values()) value *= 1.5F;
          for (float& value : c.neighbor.values()) value *= 1.3F;
          fn(std::move(c));
        }
      }
    }
  }
}

TEST(TrainingRun, GradientsOfRealLayersAreDifferencesOfTheLoss) {
  for_each_case(Precision::real, [](const Case& c) { check(c, Device::host(2)); });
}

TEST(TrainingRun, GradientsOfLayersWithTanhAreDifferencesOfTheLoss) {
  for_each_case(Precision::real, [](Case c) {
    if (c.last) return;
    c.tanh = true;
    check(c, Device::host(2));
    if (test::cuda_device()) check(c, *test::cuda_device());
  });
}

TEST(TrainingRun, GradientsOfBinaryLayersFollowTheRules) {
  for (const Precision form : {Precision::full, Precision::bin})
    for_each_case(form, [](const Case& c) { check(c, Device::host(2)); });
}

TEST(TrainingRun, PartsOfTheRowsGiveTheSameGradients) {
  for (const Precision form : {Precision::real, Precision::full, Precision::bin}) {
    for_each_case(form, [](Case c) {
      c.rows_of_part = 4;
      check(c, Device::host(2));
    });
  }
}

TEST(TrainingRun, TheSameOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  for (const Precision form : {Precision::real, Precision::full, Precision::bin})
    for_each_case(form, [](const Case& c) { check(c, *test::cuda_device()); });
}

/// Three graphs of 1, 4 and 6 nodes whose features go through a linear layer: logits are the factor times the sums over
/// the nodes, and the bias, once.
void check_readout(const Device& device) {
  Case c{.shape = {Aggregation::none, false, 9, 5}};
  c.slope = test::random_dense(3, 5, 10);
  const LayerShape shapes[] = {c.shape};
  const Precision forms[] = {Precision::real};
  const Floats x = c.x.to(device), neighbor = c.neighbor.to(device), bias = c.bias.to(device);
  Floats g_neighbor(5, 9, device), g_bias(1, 5, device);
  TrainingRun run(training_program(shapes, false, forms, true), {{{&neighbor, &bias, &g_neighbor, &g_bias}, {}}},
                  device, {.of_features = true, .rows_of_part = 2});
  const std::vector<NodeId> first_node{0, 1, 5, 11};
  const CsrPattern pattern = readout_matrix(first_node);
  constexpr float factor = 0.25F;
  TrainingBatch batch;
  batch.readout = std::make_shared<LayerGraph>(pattern.to(device), transpose(pattern).to(device),
                                               Buffer<float>(3, factor, device), Buffer<float>());
  Matrix readout(3, 11);
  for (NodeId g = 0; g < 3; ++g) {
    for (const NodeId i : pattern.row(g)) readout(g, i) = static_cast<double>(factor);
  }
  const Matrix slope(c.slope), of_nodes = times(flipped(readout), slope);
  Matrix logits = times(readout, times(Matrix(c.x), flipped(Matrix(c.neighbor))));
  logits = mapped(logits, [&](auto g, auto f) { return logits(g, f) + static_cast<double>(c.bias(0, f)); });
  for (int repeat = 0; repeat < 2; ++repeat) {
    expect_near(run.forward(batch, {.values = &x}, {}), logits, "logits");
    run.result_gradient() = c.slope.to(device);
    run.backward();
  }
  expect_near(run.gradient(run.program().features), times(of_nodes, Matrix(c.neighbor)), "input");
  expect_near(g_neighbor, times(flipped(of_nodes), Matrix(c.x)), "weight");
  expect_near(g_bias, sums_of_columns(slope), "bias");
}

TEST(TrainingRun, AReadoutGivesNodesTheGradientOfTheirGraph) { check_readout(Device::host(2)); }

TEST(TrainingRun, AReadoutOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  check_readout(*test::cuda_device());
}

/// Sums over some of a target's neighbours are scaled up to all of them.
TEST(LayerGraph, SumsOverASampleAreScaledUp) {
  const CsrPattern block = test::random_pattern(7, 11, 0.3, 1);
  const std::vector<float> degrees{9, 9, 9, 9, 9, 9, 9};
  const LayerGraph graph(block, Aggregation::sum, {.factor = 0.5F, .degrees = degrees}, {});
  for (NodeId i = 0; i < 7; ++i)
    EXPECT_FLOAT_EQ(graph.row_scale[i], block.row(i).empty() ? 0 : 4.5F / static_cast<float>(block.row(i).size()));
}

TEST(TrainingRun, RefusesAnOperatorWithoutAGradient) {
  Program program;
  program.features = program.add_value({8, {NumberKind::sign, 1}});
  program.result = program.add_value({8, {}});
  program.operators.push_back({.kind = OperatorKind::multiply_counts, .inputs = {0}, .outputs = {1}, .layer = 4});
  test::expect_error([&] { TrainingRun(program, std::vector<LayerParameters>(5), {}); }, ErrorCode::usage,
                     "layer 4, multiply counts: has no gradient");
}

}  // namespace
}  // namespace bitgraph::nn
