// SPDX-License-Identifier: Apache-2.0
// Dropout on a CUDA device draws what the host draws.
#include "support/cuda_device.hpp"
#include "support/random_matrices.hpp"
#include "support/shapes.hpp"

#include <bitgraph/ops/dropout.hpp>

#include <gtest/gtest.h>

#include <limits>

namespace bitgraph {
namespace {

using Mask = BitMatrix<ZeroOne>;

TEST(DropoutCuda, TheMaskIsThatOfTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const RandomKey key{0xFEDCBA9876543210U, 0x80000001U, 0xFFFFFFFFU};
  for (const test::Shape& shape : test::odd_shapes()) {
    for (const float rate : {0.0F, 0.4F, 0.9999F}) {
      SCOPED_TRACE(testing::Message() << shape << " rate " << rate);
      Mask expected(shape.nrows, shape.ncols);
      dropout_mask_into(expected, rate, key);
      Mask keep = test::random_bits<ZeroOne>(shape.nrows, shape.ncols, 4).to(device);
      dropout_mask_into(keep, rate, key);
      EXPECT_TRUE(keep.to(Device{}) == expected);
    }
  }
}

TEST(DropoutCuda, ApplyingScalesWhatIsKeptAndClearsTheRest) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const test::Shape& shape : test::odd_shapes()) {
    SCOPED_TRACE(testing::Message() << shape);
    const Mask keep = test::random_bits<ZeroOne>(shape.nrows, shape.ncols, 4);
    DenseMatrix<float> expected = test::random_dense(shape.nrows, shape.ncols, 5);
    for (std::size_t i = 0; i < shape.nrows; ++i) {
      for (std::size_t j = 0; j < shape.ncols; ++j) {
        if (!keep.bit(i, j)) expected(i, j) = std::numeric_limits<float>::quiet_NaN();
      }
    }
    DenseMatrix<float> there = expected.to(device);
    apply_dropout(expected, keep, 0.4F);
    apply_dropout(there, keep.to(device), 0.4F);
    const DenseMatrix<float> actual = there.to(Device{});
    for (std::size_t n = 0; n < actual.values().size(); ++n) ASSERT_EQ(actual.values()[n], expected.values()[n]);
  }
}

TEST(DropoutCuda, SetBitsAreDroppedAsOnTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const test::Shape& shape : test::odd_shapes()) {
    SCOPED_TRACE(testing::Message() << shape);
    const Mask keep = test::random_bits<ZeroOne>(shape.nrows, shape.ncols, 4);
    auto expected = test::random_bits<PlusMinusOne>(shape.nrows, shape.ncols, 6);
    auto there = expected.to(device);
    drop_set_bits(expected, keep);
    drop_set_bits(there, keep.to(device));
    EXPECT_TRUE(there.to(Device{}) == expected);
  }
}

}  // namespace
}  // namespace bitgraph
