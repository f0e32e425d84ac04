// SPDX-License-Identifier: Apache-2.0
// What training over several devices, or in whole numbers, will need of a run: operators that exchange rows may stand
// between others, sums over nodes do not depend on who adds up which part, and scales may be those of the step before.
#include "nn/program/passes/passes.hpp"
#include "nn/training/run/training_run.hpp"
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/ops/dense.hpp>
#include <bitgraph/ops/gemm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using Floats = DenseMatrix<float>;

constexpr std::size_t nodes = 90, features = 20, hidden = 12, classes = 5;

/// A GCN of two layers on a graph of 90 nodes, with its parameters.
struct Network {
  std::vector<LayerShape> shapes{{Aggregation::symmetric, false, features, hidden},
                                 {Aggregation::symmetric, false, hidden, classes}};
  CsrPattern graph = symmetrized(test::random_pattern(nodes, nodes, 0.05, 1));
  Floats x = test::random_dense(nodes, features, 2);
  Floats slope = test::random_dense(nodes, classes, 3);
  std::vector<Floats> weights, biases;

  Network() {
    for (const LayerShape& shape : shapes) {
      weights.push_back(test::random_dense(shape.outputs, shape.inputs, weights.size() + 4));
      biases.push_back(test::random_dense(1, shape.outputs, weights.size() + 6));
    }
  }

  [[nodiscard]] Program program(Precision precision) const {
    const std::vector<Precision> forms{precision, precision.of_last_layer()};
    return training_program(shapes, false, forms);
  }
};

struct Outcome {
  Floats logits;
  std::vector<Floats> gradients;
};

std::vector<Device> devices() {
  std::vector<Device> all{Device::host(1), Device::host(2)};
  if (test::cuda_device()) all.push_back(*test::cuda_device());
  return all;
}

/// A step of a program; binary ones are given the signs of the features.
Outcome step_of(const Network& network, Program program, const Device& device, std::size_t rows_of_part) {
  std::vector<Floats> weights, biases, of_weights, of_biases;
  for (std::size_t l = 0; l < network.shapes.size(); ++l) {
    weights.push_back(network.weights[l].to(device));
    biases.push_back(network.biases[l].to(device));
    of_weights.emplace_back(weights[l].nrows(), weights[l].ncols(), device);
    of_biases.emplace_back(1, weights[l].nrows(), device);
  }
  std::vector<LayerParameters> parameters(network.shapes.size());
  for (std::size_t l = 0; l < parameters.size(); ++l)
    parameters[l].neighbor = {&weights[l], &biases[l], &of_weights[l], &of_biases[l]};
  const bool real = !program.value(program.features).is_signs();
  TrainingRun run(std::move(program), parameters, device, {.rows_of_part = rows_of_part});
  TrainingBatch batch;
  batch.graphs.assign(2,
                      std::make_shared<LayerGraph>(network.graph, Aggregation::symmetric, WholeGraphFacts{}, device));
  const Floats x = network.x.to(device);
  const Binarized signs = binarize(x);
  const TrainingInput input{.values = real ? &x : nullptr, .signs = real ? nullptr : &signs};
  Outcome outcome{run.forward(batch, input, {}).to(Device{}), {}};
  run.result_gradient() = network.slope.to(device);
  run.backward();
  for (const auto* all : {&of_weights, &of_biases}) {
    for (const Floats& gradient : *all) outcome.gradients.push_back(gradient.to(Device{}));
  }
  return outcome;
}

void expect_same_bits(const Outcome& actual, const Outcome& expected) {
  test::expect_identical(actual.logits.values(), expected.logits.values());
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (std::size_t n = 0; n < expected.gradients.size(); ++n)
    test::expect_identical(actual.gradients[n].values(), expected.gradients[n].values());
}

TEST(TrainingSeams, AnOperatorThatExchangesRowsMayStandBetweenAValueAndItsReaders) {
  const Network network;
  for (const Precision precision : {Precision::real, Precision::full, Precision::bin}) {
    Program exchanged = network.program(precision);
    std::size_t put = 0;
    for (const Operator& op : std::vector<Operator>(exchanged.operators)) {
      if (op.kind == OperatorKind::dropout || exchanged.value(op.output()).is_signs()) continue;
      put_behind(exchanged, op.output(), {.kind = OperatorKind::concat});  // of one value: a copy
      ++put;
    }
    EXPECT_GE(put, 4U);
    exchanged.validate();
    for (const Device& device : devices()) {
      SCOPED_TRACE(to_string(precision) + " on " + device.name());
      expect_same_bits(step_of(network, exchanged, device, 1000),
                       step_of(network, network.program(precision), device, 1000));
    }
  }
}

TEST(TrainingSeams, GradientsOfWeightsAreSumsOfFixedPartsOfTheRowsInTheirOrder) {
  const std::size_t rows_of_part = 32;
  const std::vector<LayerShape> shapes{{Aggregation::none, false, features, classes}};
  const std::vector<Precision> forms{Precision::real};
  const Floats x = test::random_dense(nodes, features, 2), slope = test::random_dense(nodes, classes, 3),
               weight = test::random_dense(classes, features, 4), bias = test::random_dense(1, classes, 5);
  Floats of_weight(classes, features), of_bias(1, classes);
  TrainingRun run(training_program(shapes, false, forms), {{{&weight, &bias, &of_weight, &of_bias}, {}}},
                  Device::host(2), {.rows_of_part = rows_of_part});
  const TrainingBatch batch;
  run.forward(batch, {.values = &x}, {});
  run.result_gradient() = slope.clone();
  run.backward();
  // The last part first, each by a device of its own.
  std::vector<Floats> weight_parts, bias_parts;
  for (const std::size_t first : {std::size_t{64}, std::size_t{32}, std::size_t{0}}) {
    const std::size_t rows = std::min(rows_of_part, nodes - first);
    Floats x_part(rows, features, Device::host(1)), slope_part(rows, classes, Device::host(1));
    std::copy_n(x.row(first).data(), rows * features, x_part.values().data());
    std::copy_n(slope.row(first).data(), rows * classes, slope_part.values().data());
    float_gemm(weight_parts.emplace_back(classes, features, Device::host(1)), slope_part, true, x_part, false);
    column_sums_into(bias_parts.emplace_back(1, classes, Device::host(1)).values(), slope_part);
  }
  for (auto* parts : {&weight_parts, &bias_parts}) {
    Floats& sum = parts->back();
    for (std::size_t n = parts->size() - 1; n-- > 0;) accumulate(sum, std::as_const((*parts)[n]));
    test::expect_identical(std::as_const(sum).values(), (parts == &weight_parts ? of_weight : of_bias).values());
  }
}

TEST(TrainingSeams, ThePartsOfBinaryLayersAddUpToTheWhole) {
  const Network network;
  for (const Precision precision : {Precision::real, Precision::full, Precision::bin}) {
    for (const Device& device : devices()) {
      SCOPED_TRACE(to_string(precision) + " on " + device.name());
      const Outcome whole = step_of(network, network.program(precision), device, 1000);
      const Outcome parts = step_of(network, network.program(precision), device, 32);
      test::expect_identical(parts.logits.values(), whole.logits.values());
      for (std::size_t g = 0; g < whole.gradients.size(); ++g) {
        for (std::size_t n = 0; n < whole.gradients[g].values().size(); ++n)
          EXPECT_NEAR(parts.gradients[g].values()[n], whole.gradients[g].values()[n], 1e-4);
      }
    }
  }
}

/// alpha(i) sign(x(i, j)), as floats.
Floats signs_with_scales(const Floats& x, std::span<const float> alpha) {
  Floats y(x.nrows(), x.ncols());
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    for (std::size_t j = 0; j < x.ncols(); ++j) y(i, j) = x(i, j) >= 0 ? alpha[i] : -alpha[i];
  }
  return y;
}

TEST(TrainingSeams, AScaleMayBeThatOfTheStepBefore) {
  const std::vector<LayerShape> shapes{{Aggregation::none, false, features, classes}};
  const std::vector<Precision> forms{Precision::full};
  const Floats weight = test::random_dense(classes, features, 4), bias = test::random_dense(1, classes, 5);
  Program program = training_program(shapes, false, forms);
  const ValueId floats = program.add_value({features, {}});
  const ValueId signs = std::exchange(program.features, floats);
  program.operators.insert(
      program.operators.begin(),
      {.kind = OperatorKind::quantize, .inputs = {floats}, .outputs = {signs}, .scale_before = true});
  program.validate();
  Program without = program;
  without.operators.front().scale_before = false;
  const TrainingBatch batch;
  const auto output_of = [&](TrainingRun& run, const Floats& x) {
    return run.forward(batch, {.values = &x}, {}).to(Device{});
  };
  for (const Device& device : devices()) {
    SCOPED_TRACE(device.name());
    const Floats there = weight.to(device), bias_there = bias.to(device);
    const std::vector<LayerParameters> parameters{{{&there, &bias_there, nullptr, nullptr}, {}}};
    TrainingRun run(program, parameters, device), plain(without, parameters, device);
    const Floats first = test::random_dense(nodes, features, 2), second = test::random_dense(nodes, features, 3);
    EXPECT_EQ(output_of(run, first.to(device)).values()[7], output_of(plain, first.to(device)).values()[7]);
    const Binarized before = binarize(first);
    const Floats expected_input = signs_with_scales(second, before.alpha.span());
    TrainingRun expected(without, parameters, device);
    const Floats wanted = output_of(expected, expected_input.to(device));
    const Floats actual = output_of(run, second.to(device));
    for (std::size_t n = 0; n < wanted.values().size(); ++n)
      ASSERT_NEAR(actual.values()[n], wanted.values()[n], 1e-4) << n;
    EXPECT_NE(actual.values()[7], output_of(plain, second.to(device)).values()[7]);
  }
}

}  // namespace
}  // namespace bitgraph::nn
