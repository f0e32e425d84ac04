// SPDX-License-Identifier: Apache-2.0
// Gradients of layers in levels, beside the rules written out over dense matrices in double: straight through within
// the range of the levels, nothing from outside of it; weights, inputs and messages have the values of levels, whose
// steps and offsets have gradients too.
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

/// Levels of one matrix: steps and offsets of the tensor, of its rows or of its columns, as they are learned and made.
struct Levels {
  int bits;
  ScaleExtent extent;
  Floats learned, made;

  Levels(int the_bits, ScaleExtent the_extent, std::size_t count, float low, float high)
      : bits(the_bits), extent(the_extent), learned(2, count), made(2, count) {
    for (std::size_t n = 0; n < count; ++n) {
      const float step = (1 + 0.1F * static_cast<float>(n)) * (high - low) / static_cast<float>((1 << bits) - 1);
      learned(0, n) = std::log(step);
      learned(1, n) = low / step;
    }
    learned_scale_into(made, learned);
  }

  [[nodiscard]] LevelGrid grid() const {
    return {.bits = bits, .extent = extent, .steps = made.row(0), .offsets = made.row(1)};
  }
  [[nodiscard]] std::size_t place(std::size_t i, std::size_t j) const {
    return extent == ScaleExtent::tensor ? 0 : extent == ScaleExtent::row ? i : j;
  }
  [[nodiscard]] double level(double x, std::size_t n) const {
    return (x - static_cast<double>(made(1, n))) / static_cast<double>(made(0, n));
  }

  /// 1 where a gradient goes through, else 0. `out` and `in` count both.
  [[nodiscard]] Matrix passes(const Matrix& x, std::size_t& in, std::size_t& out) const {
    return mapped(x, [&](std::size_t i, std::size_t j) {
      const double at = level(x(i, j), place(i, j));
      const bool through = at >= -0.5 && at <= (1 << bits) - 0.5;
      ++(through ? in : out);
      return through ? 1.0 : 0.0;
    });
  }

  /// Of the numbers that are learned, where the values of x in levels have the gradient g: a clipped value is that of
  /// the first or the last level, any other changes by what rounding adds.
  [[nodiscard]] Matrix slopes(const Matrix& x, const Matrix& g, bool of_places = true) const {
    Matrix sums(2, learned.ncols());
    const double most = (1 << bits) - 1;
    for (std::size_t i = 0; i < x.nrows; ++i) {
      for (std::size_t j = 0; j < x.ncols; ++j) {
        const std::size_t n = place(i, j);
        const double at = level(x(i, j), n), step = static_cast<double>(made(0, n));
        const double first = static_cast<double>(made(1, n)) / step;
        const bool clipped = at < 0 || at > most;
        const double change = at < 0 ? first : at > most ? first + most : std::nearbyint(at) - at;
        sums(0, n) += g(i, j) * step * change;
        sums(1, n) += clipped && of_places ? g(i, j) * step : 0.0;
      }
    }
    return sums;
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
  Matrix of_w0, of_w1, of_input, of_messages;  ///< of scales
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
  const Matrix g_sums = times(flipped(a), g);
  const Matrix g_messages = messages_in_levels ? scaled(g_sums, n.of_messages.passes(messages, in, out)) : g_sums;
  const Matrix g_input = times(g_messages, w1);
  Matrix g_h = scaled(g_input, n.of_input.passes(h, in, out));
  EXPECT_GT(in, 100U);
  EXPECT_GT(out, 100U) << "nothing to tell a cut gradient by";
  g_h = mapped(g_h, [&](std::size_t i, std::size_t f) { return before(i, f) > 0 ? g_h(i, f) : 0.0; });
  const Matrix g_w0 = times(flipped(g_h), x), g_w1 = times(flipped(g_messages), input);
  in = out = 0;
  Gradients all{logits,
                scaled(g_w0, n.of_w0.passes(Matrix(n.w0), in, out)),
                sums_of_columns(g_h),
                scaled(g_w1, n.of_w1.passes(Matrix(n.w1), in, out)),
                sums_of_columns(g),
                n.of_w0.slopes(Matrix(n.w0), g_w0),
                n.of_w1.slopes(Matrix(n.w1), g_w1),
                n.of_input.slopes(h, g_input, false),
                n.of_messages.slopes(messages, g_sums)};
  EXPECT_GT(out, 10U) << "of weights";
  return all;
}

void expect_near(const Floats& actual, const Matrix& expected, const char* what) {
  const Floats here = actual.to(Device{});
  ASSERT_EQ(here.values().size(), expected.values.size()) << what;
  double largest = 0;
  for (const double value : expected.values) largest = std::max(largest, std::fabs(value));
  for (std::size_t n = 0; n < expected.values.size(); ++n)
    ASSERT_NEAR(here.values()[n], expected.values[n], 2e-5 * (1 + largest)) << what << " element " << n;
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
      scales.push_back(of->learned.to(device));
      scales.emplace_back(2, of->learned.ncols(), device);
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
    expect_near(first.scales[1], expected.of_w0, "scale of the first weight");
    expect_near(second.scales[1], expected.of_w1, "scale of the second weight");
    expect_near(second.scales[3], expected.of_input, "scale of the input");
    if (messages) expect_near(second.scales[5], expected.of_messages, "scale of the messages");
  }
}

TEST(TrainingRun, GradientsOfLevelsGoThroughWithinTheirRange) { check(Device::host(2)); }

TEST(TrainingRun, GradientsOfLevelsOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  check(*test::cuda_device());
}

}  // namespace
}  // namespace bitgraph::nn
