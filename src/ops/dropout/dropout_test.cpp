// SPDX-License-Identifier: Apache-2.0
#include "ops/dropout/dropout.hpp"

#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"
#include "support/shapes.hpp"

#include <bitgraph/ops/dropout.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace bitgraph {
namespace {

using Mask = BitMatrix<ZeroOne>;

Mask mask(std::size_t nrows, std::size_t ncols, float rate, RandomKey key) {
  Mask keep(nrows, ncols);
  dropout_mask_into(keep, rate, key);
  return keep;
}

std::size_t ones(const Mask& keep) {
  std::size_t count = 0;
  for (const std::uint64_t word : keep.words()) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}

TEST(Dropout, TheMaskIsTheSameEverywhere) {
  const RandomKey key{0xFEDCBA9876543210U, 0x80000001U, 0xFFFFFFFFU};
  for (const test::Shape& shape : test::odd_shapes()) {
    for (const std::uint32_t threshold : {1U, 39322U, 65535U}) {
      Mask expected = test::random_bits<ZeroOne>(shape.nrows, shape.ncols, 3);
      dropout_mask(Reference{}, DropoutArgs{expected.view(), threshold, key});
      EXPECT_TRUE(test::padding_is_zero(expected));
      const auto rate = static_cast<float>(1 - threshold / 65536.0);
      test::everywhere([&](const Device& device) {
        SCOPED_TRACE(testing::Message() << shape << " threshold " << threshold);
        Mask keep = test::random_bits<ZeroOne>(shape.nrows, shape.ncols, 4).to(device);
        dropout_mask_into(keep, rate, key);
        EXPECT_TRUE(keep == expected);
      });
    }
  }
}

TEST(Dropout, TheExtremeRatesKeepAllAndNothing) {
  test::everywhere([&](const Device& device) {
    Mask keep(130, 70, device);
    dropout_mask_into(keep, 0, {1, 2, 3});
    EXPECT_EQ(ones(keep), 130U * 70);
    EXPECT_TRUE(test::padding_is_zero(keep));
    dropout_mask_into(keep, 1e-6F, {1, 2, 3});
    EXPECT_EQ(ones(keep), 130U * 70) << "the nearest multiple of 1/65536 is 0";
    dropout_mask_into(keep, std::nextafter(1.0F, 0.0F), {1, 2, 3});
    EXPECT_EQ(ones(keep), 0U) << "the nearest multiple of 1/65536 is 1";
  });
}

TEST(Dropout, EntriesAreDroppedAsTheirNumbersSay) {
  const RandomKey key{0xFEDCBA9876543210U, 0x80000001U, 0xFFFFFFFFU};
  for (const std::size_t size : {0U, 1U, 31U, 32U, 33U, 127U, 20000U}) {
    const auto values = test::random_floats(size, 3, -1, 1);
    for (const float rate : {0.0F, 0.3F, 0.5F, std::nextafter(1.0F, 0.0F)}) {
      std::vector<float> expected(size);
      for (std::size_t e = 0; e < size; ++e)
        expected[e] = random_uniform(key, e) < rate ? 0.0F : values[e] * (1 / (1 - rate));
      test::everywhere([&](const Device& device) {
        std::vector<float> out(size, 7);
        drop_entries_into(out, values, rate, key, device);
        test::expect_identical(out, expected);
      });
    }
  }
  std::vector<float> three(3);
  EXPECT_THROW(drop_entries_into(three, std::vector<float>(2), 0.5F, key), Error);
  EXPECT_THROW(drop_entries_into(three, three, 1, key), Error);
}

TEST(Dropout, TheStreamDoesNotChangeBetweenVersions) {
  // A training that is resumed must draw what it would have drawn.
  const Mask keep = mask(2, 128, 0.4F, {7, 1, 5});
  EXPECT_EQ(keep.words()[0], 0x4939E33577C3FBFFU);
  EXPECT_EQ(keep.words()[3], 0x83F3C0E9BAAEE389U);
}

/// Within five standard deviations of what `trials` draws of probability p give; `spread` is how much wider than for
/// independent draws the distribution is at most.
void expect_share(std::size_t count, std::size_t trials, double p, const char* what, double spread = 1) {
  const auto n = static_cast<double>(trials);
  EXPECT_NEAR(static_cast<double>(count), n * p, 5 * spread * std::sqrt(n * p * (1 - p))) << what;
}

TEST(Dropout, BitsHaveTheirRateInEveryPlaceAndDoNotDependOnTheirNeighbours) {
  constexpr std::size_t nrows = 2000;
  constexpr std::size_t ncols = 192;
  for (const float rate : {0.1F, 0.4F, 0.5F, 0.9F}) {
    SCOPED_TRACE(rate);
    const Mask keep = mask(nrows, ncols, rate, {1, 2, 3});
    const double p = 1.0 - static_cast<double>(rate);
    expect_share(ones(keep), nrows * ncols, p, "all");
    std::size_t beside = 0;
    std::size_t below = 0;
    for (std::size_t j = 0; j + 1 < ncols; ++j) {
      std::size_t column = 0;
      for (std::size_t i = 0; i + 1 < nrows; ++i) {
        column += keep.bit(i, j) ? 1U : 0U;
        beside += keep.bit(i, j) && keep.bit(i, j + 1) ? 1U : 0U;
        below += keep.bit(i, j) && keep.bit(i + 1, j) ? 1U : 0U;
      }
      expect_share(column, nrows - 1, p, "a column");
    }
    // Neighbouring pairs share a bit.
    expect_share(beside, (nrows - 1) * (ncols - 1), p * p, "side by side", 2);
    expect_share(below, (nrows - 1) * (ncols - 1), p * p, "one below the other", 2);
  }
}

TEST(Dropout, EveryPartOfTheKeyMatters) {
  const RandomKey key{5, 6, 7};
  const Mask first = mask(64, 640, 0.5F, key);
  EXPECT_TRUE(first == mask(64, 640, 0.5F, key));
  for (const RandomKey& other :
       {RandomKey{6, 6, 7}, RandomKey{5 + (std::uint64_t{1} << 32), 6, 7}, RandomKey{5, 7, 7}, RandomKey{5, 6, 8}}) {
    Mask same = mask(64, 640, 0.5F, other);
    for (std::size_t w = 0; w < same.words().size(); ++w) same.words()[w] = ~(same.words()[w] ^ first.words()[w]);
    expect_share(ones(same), 64 * 640, 0.5, "bits in common with another key");
  }
}

TEST(Dropout, ARowDoesNotDependOnHowManyThereAre) {
  const Mask large = mask(300, 129, 0.4F, {1, 2, 3});
  const Mask small = mask(7, 129, 0.4F, {1, 2, 3});
  for (std::size_t w = 0; w < small.words().size(); ++w) EXPECT_EQ(small.words()[w], large.words()[w]);
}

TEST(Dropout, ApplyingScalesWhatIsKeptEverywhere) {
  for (const test::Shape& shape : test::odd_shapes()) {
    const auto keep = test::random_bits<ZeroOne>(shape.nrows, shape.ncols, 4);
    auto expected = test::random_dense(shape.nrows, shape.ncols, 5);
    for (std::size_t i = 0; i < shape.nrows; ++i) {
      for (std::size_t j = 0; j < shape.ncols; ++j) {
        expected(i, j) = keep.bit(i, j) ? expected(i, j) * (1 / (1 - 0.4F)) : 0.0F;
      }
    }
    auto reference = test::random_dense(shape.nrows, shape.ncols, 5);
    apply_dropout(Reference{}, ApplyDropoutArgs{reference.view(), keep.view(), 1 / (1 - 0.4F)});
    test::expect_identical(reference.values(), expected.values());
    test::everywhere([&](const Device& device) {
      SCOPED_TRACE(testing::Message() << shape);
      auto x = test::random_dense(shape.nrows, shape.ncols, 5).to(device);
      apply_dropout(x, keep, 0.4F);
      test::expect_identical(x.values(), expected.values());
    });
  }
}

TEST(Dropout, SetBitsAreDroppedAndNothingElseChanges) {
  for (const test::Shape& shape : test::odd_shapes()) {
    const auto keep = test::random_bits<ZeroOne>(shape.nrows, shape.ncols, 4);
    const auto before = test::random_bits<PlusMinusOne>(shape.nrows, shape.ncols, 6);
    test::everywhere([&](const Device& device) {
      SCOPED_TRACE(testing::Message() << shape);
      auto x = before.to(device);
      drop_set_bits(x, keep);
      for (std::size_t i = 0; i < shape.nrows; ++i) {
        for (std::size_t j = 0; j < shape.ncols; ++j)
          ASSERT_EQ(x.value(i, j), before.value(i, j) == 1 && keep.bit(i, j) ? 1 : -1);
      }
      EXPECT_TRUE(test::padding_is_zero(x));
    });
    auto by_reference = before.clone();
    drop_set_bits(Reference{}, DropSetBitsArgs{by_reference.view(), keep.view()});
    auto by_cpu = before.clone();
    drop_set_bits(by_cpu, keep);
    EXPECT_TRUE(by_reference == by_cpu);
  }
  auto x = test::random_bits<PlusMinusOne>(3, 4, 1);
  EXPECT_THROW(drop_set_bits(x, test::random_bits<ZeroOne>(3, 5, 1)), Error);
}

TEST(Dropout, WhatIsDroppedIsZeroWhateverItWas) {
  test::everywhere([](const Device& device) {
    DenseMatrix<float> x(2, 20, device);
    for (float& value : x.values()) value = std::numeric_limits<float>::quiet_NaN();
    apply_dropout(x, BitMatrix<ZeroOne>(2, 20), 0.5F);
    for (const float value : x.values()) EXPECT_EQ(value, 0);
  });
}

TEST(Dropout, ErrorsNameTheRateOrTheShapes) {
  Mask keep(3, 4);
  for (const float rate : {1.0F, -0.1F, 2.0F, std::numeric_limits<float>::quiet_NaN()}) {
    test::expect_usage_error([&] { dropout_mask_into(keep, rate, {}); }, "expected 0 <= rate < 1");
    DenseMatrix<float> x(3, 4);
    test::expect_usage_error([&] { apply_dropout(x, keep, rate); }, "expected 0 <= rate < 1");
  }
  DenseMatrix<float> x(3, 5);
  test::expect_usage_error([&] { apply_dropout(x, keep, 0.5F); }, "X is 3 x 5, the mask is 3 x 4");
}

TEST(Dropout, NothingIsAllocated) {
  const Device device = Device::host(2);
  DenseMatrix<float> x(300, 70, device);
  Mask keep(300, 70, device);
  const std::size_t before = device.memory().allocations;
  dropout_mask_into(keep, 0.4F, {});
  apply_dropout(x, keep, 0.4F);
  EXPECT_EQ(device.memory().allocations, before);
}

}  // namespace
}  // namespace bitgraph
