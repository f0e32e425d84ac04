// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/log_softmax.hpp>

#include "ops/row_parts.hpp"
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"
#include "support/shapes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;
using Labels = std::vector<std::int32_t>;
using Nodes = std::vector<NodeId>;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// The definition, safe because the test's values are small.
double log_probability(const Floats& x, std::size_t i, std::size_t c) {
  double sum = 0;
  for (const float value : x.row(i)) sum += std::exp(static_cast<double>(value));
  return x(i, c) - std::log(sum);
}

TEST(LogSoftmax, IsItsDefinitionInPlaceAndForAnyNumberOfThreads) {
  for (const test::Shape& shape : test::odd_shapes()) {
    SCOPED_TRACE(testing::Message() << shape);
    const Floats x = test::random_dense(shape.nrows, shape.ncols, 1);
    Floats serial(shape.nrows, shape.ncols, Device::host(1));
    log_softmax_into(serial, x);
    for (std::size_t i = 0; i < shape.nrows; ++i) {
      for (std::size_t c = 0; c < shape.ncols; c += 1 + c / 3) {
        EXPECT_NEAR(serial(i, c), log_probability(x, i, c), 1e-6);
      }
    }
    test::with_thread_counts([&](const Device& device) {
      Floats out = x.to(device);
      log_softmax_into(out, out);
      test::expect_identical(out.values(), serial.values());
    });
  }
}

TEST(LogSoftmax, ExtremeLogitsStayFinite) {
  Floats x(4, 3, Buffer<float>{1e30F, -1e30F, 0, 7, 7, 7, -1e30F, -1e30F, -1e30F, 3e38F, 3e38F, -3e38F});
  log_softmax_into(x, x);
  EXPECT_EQ(x(0, 0), 0);
  EXPECT_EQ(x(0, 1), -2e30F);
  EXPECT_EQ(x(0, 2), -1e30F);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_FLOAT_EQ(x(1, c), -std::log(3.0F));
    EXPECT_FLOAT_EQ(x(2, c), -std::log(3.0F));
  }
  EXPECT_FLOAT_EQ(x(3, 0), -std::log(2.0F));
}

TEST(LogSoftmax, ExtremeLogitsHaveAFiniteLossAndGradient) {
  const Floats x(2, 3, Buffer<float>{1e30F, -1e30F, 0, 5, 5, 5});
  Floats gradient(2, 3);
  const Score score = cross_entropy_backward_into(gradient, x, Labels{1, 0}, Nodes{0, 1});
  EXPECT_NEAR(score.loss, 1e30, 1e24);
  test::expect_identical(gradient.row(0), std::vector<float>{0.5F, -0.5F, 0});
  EXPECT_FLOAT_EQ(gradient(1, 0), -1.0F / 3);
  EXPECT_FLOAT_EQ(gradient(1, 1), 1.0F / 6);
}

TEST(LogSoftmax, NaNGoesThroughAndStaysInItsRow) {
  for (const std::size_t at : {0U, 1U, 2U}) {
    Floats x(2, 3, Buffer<float>{1, 2, 3, 1, 2, 3});
    x(0, at) = nan;
    EXPECT_TRUE(std::isnan(score(x, Labels{0, 2}, Nodes{0, 1}).loss));
    EXPECT_EQ(score(x, Labels{0, 2}, Nodes{1}).correct, 1U);
    Floats gradient(2, 3);
    (void)cross_entropy_backward_into(gradient, x, Labels{0, 2}, Nodes{0, 1});
    EXPECT_TRUE(std::isnan(gradient(0, 1)));
    EXPECT_FALSE(std::isnan(gradient(1, 1)));
    log_softmax_into(x, x);
    EXPECT_TRUE(std::isnan(x(0, 0)));
    EXPECT_FALSE(std::isnan(x(1, 0)));
  }
}

TEST(Score, CountsWhatHasALabelAndIsRight) {
  const Floats x(4, 3, Buffer<float>{0, 2, 1, 5, 5, 1, 0, 0, 9, 1, 2, 3});
  const Score s = score(x, Labels{1, 1, -1, 2}, Nodes{0, 1, 2, 3});
  EXPECT_EQ(s.total, 3U) << "a node without a label does not count";
  EXPECT_EQ(s.correct, 2U) << "of equal logits the first is the prediction";
  EXPECT_NEAR(s.loss, -(log_probability(x, 0, 1) + log_probability(x, 1, 1) + log_probability(x, 3, 2)) / 3, 1e-6);
  EXPECT_DOUBLE_EQ(s.accuracy(), 2.0 / 3);
  const Score again = score(x, Labels{1, 1, -1, 2}, Nodes{0, 0});
  EXPECT_EQ(again.total, 2U) << "a node that is listed twice counts twice";
}

TEST(Score, OfLogProbabilitiesIsThatOfTheLogits) {
  const Floats x = test::random_dense(50, 7, 1);
  Floats log_probabilities(50, 7);
  log_softmax_into(log_probabilities, x);
  Labels labels;
  Nodes nodes;
  for (NodeId i = 0; i < 50; ++i) {
    labels.push_back(static_cast<std::int32_t>(i % 7));
    nodes.push_back(i);
  }
  const Score a = score(x, labels, nodes);
  const Score b = score(log_probabilities, labels, nodes);
  EXPECT_NEAR(a.loss, b.loss, 1e-6);
  EXPECT_EQ(a.correct, b.correct);
}

/// Parts are of 128 rows, so that their means times 128 are their sums, to the last bit.
TEST(Score, IsTheSumOfFixedPartsInTheirOrderForAnyNumberOfThreads) {
  constexpr std::size_t rows = RowParts::least_rows, parts = 41;
  static_assert(rows == 128);
  Floats x = test::random_dense(rows * parts, 7, 1);
  for (std::size_t n = 0; n < x.values().size(); ++n) x.values()[n] *= static_cast<float>(1 + n % 5 * n);
  Labels labels;
  Nodes nodes;
  for (NodeId i = 0; i < rows * parts; ++i) {
    labels.push_back(static_cast<std::int32_t>(i % 7));
    nodes.push_back((i * 5) % (rows * parts));
  }
  double sum = 0, backwards = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    const auto loss_of = [&](std::size_t n) {
      return rows * score(x, labels, std::span<const NodeId>(nodes).subspan(n * rows, rows)).loss;
    };
    sum += loss_of(part);
    backwards += loss_of(parts - 1 - part);
  }
  EXPECT_NE(sum, backwards) << "nothing to tell the orders apart by";
  test::with_thread_counts([&](const Device& device) {
    const Floats there = x.to(device);
    EXPECT_EQ(score(there, labels, nodes).loss, sum / (rows * parts));
    Floats gradient(x.nrows(), x.ncols(), device);
    EXPECT_EQ(cross_entropy_backward_into(gradient, there, labels, nodes).loss, sum / (rows * parts));
  });
}

TEST(Score, OfNothingIsZero) {
  const Floats x(2, 3);
  Floats gradient = test::random_dense(2, 3, 1);
  for (const Nodes& nodes : {Nodes{}, Nodes{0, 1}}) {
    const Score s = cross_entropy_backward_into(gradient, x, Labels{-1, -1}, nodes);
    EXPECT_EQ(s.total, 0U);
    EXPECT_EQ(s.loss, 0);
    EXPECT_EQ(s.accuracy(), 0);
    for (const float g : gradient.values()) EXPECT_EQ(g, 0);
  }
  EXPECT_EQ(score(Floats(), Labels{}, Nodes{}).total, 0U);
}

TEST(CrossEntropy, GradientMatchesFiniteDifferences) {
  Floats logits = test::random_dense(5, 4, 1);
  const Labels labels{1, 3, -1, 0, 2};
  const Nodes nodes{0, 1, 1, 2, 4};
  Floats gradient = test::random_dense(5, 4, 2);
  const Score first = cross_entropy_backward_into(gradient, logits, labels, nodes);
  const Score same = score(logits, labels, nodes);
  EXPECT_EQ(first.loss, same.loss);
  EXPECT_EQ(first.correct, same.correct);
  for (std::size_t n = 0; n < logits.values().size(); ++n) {
    float& value = logits.values()[n];
    const float kept = value;
    value = kept + 1e-2F;
    const double up = score(logits, labels, nodes).loss;
    value = kept - 1e-2F;
    const double down = score(logits, labels, nodes).loss;
    value = kept;
    EXPECT_NEAR(gradient.values()[n], (up - down) / 2e-2, 1e-4) << n;
  }
  for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(gradient(3, c), 0) << "not among the nodes";
}

TEST(LogSoftmax, ErrorsNameOperandsThatDoNotFit) {
  Floats x(3, 4);
  Floats wide(3, 5);
  test::expect_usage_error([&] { log_softmax_into(wide, x); }, "X is 3 x 4, the output is 3 x 5");
  test::expect_usage_error(
      [&] {
        (void)cross_entropy_backward_into(wide, x, Labels{0, 0, 0}, Nodes{0});
      },
      "logits are 3 x 4, the gradient is 3 x 5");
  test::expect_usage_error([&] { (void)score(x, Labels{0, 0, 0}, Nodes{3}); }, "node 3 of 3 rows and 3 labels");
  test::expect_usage_error([&] { (void)score(x, Labels{0, 0}, Nodes{2}); }, "node 2 of 3 rows and 2 labels");
  test::expect_usage_error([&] { (void)score(x, Labels{0, 4, 0}, Nodes{1}); }, "label 4 of node 1 with 4 classes");
  test::expect_usage_error([&] { (void)score(x, Labels{0, -2, 0}, Nodes{1}); }, "label -2 of node 1 with 4 classes");
}

TEST(PendingScore, IsThatOfTheLastFunctionThatWasGivenIt) {
  const Floats x(2, 2, Buffer<float>{1, 2, 4, 0});
  const Labels labels{1, 1};
  PendingScore pending;
  EXPECT_EQ(pending.get().total, 0U);
  score_into(pending, x, labels, Nodes{0, 1});
  EXPECT_EQ(pending.get().total, 2U);
  EXPECT_EQ(pending.get().correct, 1U);
  Floats gradient(2, 2), expected(2, 2);
  cross_entropy_backward_into(gradient, pending, x, labels, Nodes{1});
  const Score score = cross_entropy_backward_into(expected, x, labels, Nodes{1});
  EXPECT_EQ(pending.get().loss, score.loss);
  EXPECT_EQ(pending.get().total, 1U);
  EXPECT_EQ(pending.get().correct, 0U);
  test::expect_identical(gradient.values(), expected.values());
}

}  // namespace
}  // namespace bitgraph
