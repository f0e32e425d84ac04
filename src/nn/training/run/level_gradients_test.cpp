// SPDX-License-Identifier: Apache-2.0
// Gradients of layers in levels, beside the rules written out over dense matrices in double: straight through within
// the range of the levels, nothing from outside of it; weights, inputs and messages have the values of levels.
#include "nn/program/passes/passes.hpp"
#include "nn/training/run/training_run.hpp"
#include "support/cuda_device.hpp"
#include "support/double_matrix.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/ops/fake_quantize.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using Floats = DenseMatrix<float>;
using Matrix = test::DoubleMatrix;
using test::flipped;
using test::mapped;
using test::scaled;
using test::sums_of_columns;
using test::times;

/// Levels of one matrix: steps and offsets of the tensor, of its rows or of its columns.
struct Levels {
  int bits;
  ScaleExtent extent;
  Floats steps, offsets;

  Levels(int the_bits, ScaleExtent the_extent, std::size_t count, float low, float high)
      : bits(the_bits), extent(the_extent), steps(1, count), offsets(1, count, Buffer<float>(count, low)) {
    for (std::size_t n = 0; n < count; ++n)
      steps(0, n) = (1 + 0.1F * static_cast<float>(n)) * (high - low) / static_cast<float>((1 << bits) - 1);
  }

  [[nodiscard]] LevelGrid grid() const {
    return {.bits = bits, .extent = extent, .steps = steps.values(), .offsets = offsets.values()};
  }

  /// 1 where a gradient goes through, else 0. `out` and `in` count both.
  [[nodiscard]] Matrix passes(const Matrix& x, std::size_t& in, std::size_t& out) const {
    return mapped(x, [&](std::size_t i, std::size_t j) {
      const std::size_t place = extent == ScaleExtent::tensor ? 0 : extent == ScaleExtent::row ? i : j;
      const double level = (x(i, j) - static_cast<double>(offsets(0, place))) / static_cast<double>(steps(0, place));
      const bool through = level >= -0.5 && level <= (1 << bits) - 0.5;
      ++(through ? in : out);
      return through ? 1.0 : 0.0;
    });
  }

  [[nodiscard]] Matrix operator()(const Matrix& x) const {
    Floats values(x.nrows, x.ncols);
    for (std::size_t n = 0; n < x.values.size(); ++n) values.values()[n] = static_cast<float>(x.values[n]);
    fake_quantize_into(values, values, grid());
    return Matrix(values);
  }
};

constexpr std::size_t nodes = 60, features = 9, hidden = 8, classes = 5;

/// Floats through a layer without a graph; its output in levels through one that takes the mean of its neighbours.
struct Network {
  std::vector<LayerShape> shapes{{Aggregation::none, false, features, hidden},
                                 {Aggregation::mean, false, hidden, classes}};
  CsrPattern graph = symmetrized(test::random_pattern(nodes, nodes, 0.05, 1));
  Floats x = test::random_dense(nodes, features, 2), slope = test::random_dense(nodes, classes, 3);
  Floats w0 = test::random_dense(hidden, features, 4), b0 = test::random_dense(1, hidden, 5),
         w1 = test::random_dense(classes, hidden, 6), b1 = test::random_dense(1, classes, 7);
  // Ranges that some values are outside of, on both sides.
  Levels of_w0{4, ScaleExtent::row, hidden, -0.7F, 0.7F}, of_w1{4, ScaleExtent::row, classes, -0.7F, 0.7F},
      of_input{3, ScaleExtent::tensor, 1, 0.2F, 1.2F}, of_messages{3, ScaleExtent::column, classes, -0.5F, 0.5F};
};

struct Gradients {
  Matrix logits, w0, b0, w1, b1;
};

Matrix mean_of_neighbors(const CsrPattern& graph) {
  Matrix a(graph.nrows(), graph.nrows());
  for (NodeId i = 0; i < graph.nrows(); ++i) {
    for (const NodeId j : graph.row(i)) a(i, j) = 1.0 / static_cast<double>(graph.row(i).size());
  }
  return a;
}

Gradients expected_of(const Network& n, bool messages_in_levels) {
  const Matrix a = mean_of_neighbors(n.graph), x(n.x), w0 = n.of_w0(Matrix(n.w0)), w1 = n.of_w1(Matrix(n.w1));
  const Matrix g(n.slope), b0(n.b0), b1(n.b1);
  Matrix before = times(x, flipped(w0));
  before = mapped(before, [&](std::size_t i, std::size_t f) { return before(i, f) + b0(0, f); });
  const Matrix h = mapped(before, [&](std::size_t i, std::size_t f) { return std::max(0.0, before(i, f)); });
  const Matrix input = n.of_input(h), messages = times(input, flipped(w1));
  Matrix logits = times(a, messages_in_levels ? n.of_messages(messages) : messages);
  logits = mapped(logits, [&](std::size_t i, std::size_t f) { return logits(i, f) + b1(0, f); });
  std::size_t in = 0, out = 0;
  Matrix g_messages = times(flipped(a), g);
  if (messages_in_levels) g_messages = scaled(g_messages, n.of_messages.passes(messages, in, out));
  Matrix g_h = scaled(times(g_messages, w1), n.of_input.passes(h, in, out));
  EXPECT_GT(in, 100U);
  EXPECT_GT(out, 100U) << "nothing to tell a cut gradient by";
  g_h = mapped(g_h, [&](std::size_t i, std::size_t f) { return before(i, f) > 0 ? g_h(i, f) : 0.0; });
  return {logits, times(flipped(g_h), x), sums_of_columns(g_h), times(flipped(g_messages), input), sums_of_columns(g)};
}

void expect_near(const Floats& actual, const Matrix& expected, const char* what) {
  const Floats here = actual.to(Device{});
  ASSERT_EQ(here.values().size(), expected.values.size()) << what;
  double largest = 0;
  for (const double value : expected.values) largest = std::max(largest, std::fabs(value));
  for (std::size_t n = 0; n < expected.values.size(); ++n)
    ASSERT_NEAR(here.values()[n], expected.values[n], 1e-5 * (1 + largest)) << what << " element " << n;
}

/// Parameters of a layer on a device.
struct PlacedLayer {
  Floats weight, bias, of_weight, of_bias;
  std::vector<Floats> scales;

  PlacedLayer(const Floats& w, const Floats& b, std::vector<const Levels*> levels, const Device& device)
      : weight(w.to(device)),
        bias(b.to(device)),
        of_weight(w.nrows(), w.ncols(), device),
        of_bias(1, w.nrows(), device) {
    for (const Levels* of : levels) {
      scales.push_back(of->steps.to(device));
      scales.push_back(of->offsets.to(device));
    }
  }

  [[nodiscard]] LayerParameters places() {
    const auto scale = [&](std::size_t n) {
      return 2 * n < scales.size() ? ScaleParameters{&scales[2 * n], &scales[2 * n + 1]} : ScaleParameters{};
    };
    return {.neighbor = {&weight, &bias, &of_weight, &of_bias},
            .root = {},
            .norm = {},
            .neighbor_scale = scale(0),
            .root_scale = {},
            .input_scale = scale(1),
            .message_scale = scale(2)};
  }
};

void check(const Device& device) {
  const Network n;
  for (const bool messages : {false, true}) {
    SCOPED_TRACE(device.name() + (messages ? ", messages in levels" : ", messages in floats"));
    const Precision form = Precision::of_levels(4, 3, messages ? 3 : 32);
    const std::vector<Precision> forms{form, form};
    PlacedLayer first(n.w0, n.b0, {&n.of_w0}, device);
    PlacedLayer second(n.w1, n.b1, {&n.of_w1, &n.of_input, &n.of_messages}, device);
    const std::vector<LayerParameters> places{first.places(), second.places()};
    TrainingRun run(training_program(n.shapes, false, forms), places, device);
    TrainingBatch batch;
    batch.graphs = {nullptr, std::make_shared<LayerGraph>(n.graph, Aggregation::mean, WholeGraphFacts{}, device)};
    const Floats x = n.x.to(device);
    const Gradients expected = expected_of(n, messages);
    expect_near(run.forward(batch, {.values = &x}, {}), expected.logits, "logits");
    run.result_gradient() = n.slope.to(device);
    run.backward();
    expect_near(second.of_weight, expected.w1, "second weight");
    expect_near(second.of_bias, expected.b1, "second bias");
    expect_near(first.of_weight, expected.w0, "first weight");
    expect_near(first.of_bias, expected.b0, "first bias");
  }
}

TEST(TrainingRun, GradientsOfLevelsGoThroughWithinTheirRange) { check(Device::host(2)); }

TEST(TrainingRun, GradientsOfLevelsOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  check(*test::cuda_device());
}

}  // namespace
}  // namespace bitgraph::nn
