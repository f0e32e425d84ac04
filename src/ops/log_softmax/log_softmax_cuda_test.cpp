// SPDX-License-Identifier: Apache-2.0
// log_softmax and the loss on a CUDA device, near to the host's; what is counted, the same.
#include "support/cuda_device.hpp"
#include "support/random_matrices.hpp"
#include "support/shapes.hpp"

#include <bitgraph/ops/log_softmax.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;

void expect_near(const Floats& expected, const Floats& actual) {
  for (std::size_t n = 0; n < expected.values().size(); ++n) {
    const float e = expected.values()[n];
    const float a = actual.values()[n];
    if (std::isnan(e) && std::isnan(a)) continue;
    ASSERT_NEAR(e, a, 1e-6 * (1 + std::fabs(e))) << "element " << n;
  }
}

TEST(LogSoftmaxCuda, IsThatOfTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const test::Shape& shape : test::odd_shapes()) {
    SCOPED_TRACE(testing::Message() << shape);
    Floats x = test::random_dense(shape.nrows, shape.ncols, 1);
    if (x.values().size() > 40) {
      x.values()[3] = 1e30F;
      x.values()[40] = std::numeric_limits<float>::quiet_NaN();
    }
    Floats there = x.to(device);
    log_softmax_into(x, x);
    log_softmax_into(there, there);
    expect_near(x, there.to(Device{}));
  }
}

struct Loss {
  Floats logits;
  std::vector<std::int32_t> labels;
  std::vector<NodeId> nodes;
};

/// Ties, nodes without a label, nodes listed twice.
Loss random_loss(std::size_t num_nodes, std::size_t classes) {
  Loss loss{test::random_dense(num_nodes, classes, 1), {}, {}};
  for (float& x : loss.logits.values()) x = std::round(x * 8) / 4;
  for (std::size_t i = 0; i < num_nodes; ++i) {
    loss.labels.push_back(static_cast<std::int32_t>(i * 7 % (classes + 1)) - 1);
    if (i % 3 != 0) loss.nodes.push_back(static_cast<NodeId>(i));
    if (i % 10 == 0) loss.nodes.push_back(static_cast<NodeId>(num_nodes - 1 - i));
  }
  return loss;
}

TEST(LogSoftmaxCuda, LossAndGradientAreThoseOfTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const test::Shape& shape : {test::Shape{1, 1}, {0, 3}, {70, 2}, {2708, 7}, {9001, 41}, {300, 129}}) {
    SCOPED_TRACE(testing::Message() << shape);
    const Loss loss = random_loss(shape.nrows, shape.ncols);
    const Floats logits = loss.logits.to(device);
    const auto labels = Buffer<std::int32_t>::copy_of(loss.labels, device);
    const auto nodes = Buffer<NodeId>::copy_of(loss.nodes, device);
    Floats gradient = test::random_dense(shape.nrows, shape.ncols, 9);
    Floats gradient_there = gradient.to(device);
    const Score expected = cross_entropy_backward_into(gradient, loss.logits, loss.labels, loss.nodes);
    const Score actual = cross_entropy_backward_into(gradient_there, logits, labels.span(), nodes.span());
    EXPECT_EQ(actual.total, expected.total);
    EXPECT_EQ(actual.correct, expected.correct);
    EXPECT_NEAR(actual.loss, expected.loss, 1e-12 * (1 + std::fabs(expected.loss)));
    EXPECT_EQ(score(logits, labels.span(), nodes.span()).loss, actual.loss) << "the sum depends on timing";
    expect_near(gradient, gradient_there.to(Device{}));
  }
}

TEST(LogSoftmaxCuda, WhatIsOutOfRangeIsNamed) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const Floats logits = test::random_dense(5, 3, 1).to(device);
  const auto labels = Buffer<std::int32_t>({0, 1, 3, 2, -1}, device);
  for (const NodeId node : {NodeId{2}, NodeId{5}}) {
    const auto nodes = Buffer<NodeId>({NodeId{0}, node}, device);
    try {
      (void)score(logits, labels.span(), nodes.span());
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage);
      EXPECT_NE(std::string(error.what()).find("number 1 of the list"), std::string::npos) << error.what();
    }
  }
}

TEST(PendingScoreCuda, GoesFromDeviceToHostAndBack) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const Loss first = random_loss(300, 5);
  const Loss second = random_loss(70, 3);
  const Floats there = first.logits.to(device);
  const auto labels = Buffer<std::int32_t>::copy_of(first.labels, device);
  const auto nodes = Buffer<NodeId>::copy_of(first.nodes, device);
  PendingScore pending;
  for (int time = 0; time < 2; ++time) {
    score_into(pending, there, labels.span(), nodes.span());
    EXPECT_EQ(pending.get().correct, score(first.logits, first.labels, first.nodes).correct);
    score_into(pending, second.logits, second.labels, second.nodes);
    EXPECT_EQ(pending.get().loss, score(second.logits, second.labels, second.nodes).loss);
  }
}

}  // namespace
}  // namespace bitgraph
