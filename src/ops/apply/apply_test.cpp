// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/apply.hpp>

#include "support/everywhere.hpp"

#include <gtest/gtest.h>

namespace bitgraph {
namespace {

Buffer<std::int32_t> counting(std::size_t size, const Device& device) {
  Buffer<std::int32_t> x(size, device);
  for (std::size_t i = 0; i < size; ++i) x[i] = static_cast<std::int32_t>(i);
  return x;
}

TEST(Apply, EveryElementOnceIntoItselfOrAnother) {
  test::with_thread_counts([](const Device& device) {
    for (const std::size_t size : {0U, 1U, 4096U, 10000U}) {
      Buffer<std::int32_t> x = counting(size, device);
      const Buffer<double> halves = apply([](std::int32_t value) { return value / 2.0; }, x);
      apply_in_place(x, [](std::int32_t value) { return value + 1; });
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(halves[i], static_cast<double>(i) / 2);
        ASSERT_EQ(x[i], static_cast<std::int32_t>(i) + 1);
      }
    }
  });
}

TEST(Apply, AssignObeysTheMask) {
  Buffer<std::int32_t> x = counting(100, Device::host(2));
  BitVector even(100);
  for (std::size_t i = 0; i < 100; i += 2) even.set_bit(i, true);
  assign(x, even, -1);
  assign(x, ~even, -2);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(x[i], i % 2 == 0 ? -1 : -2);
  assign(x, Mask(), 7);
  for (const std::int32_t value : x) EXPECT_EQ(value, 7);
}

TEST(Apply, WhatDoesNotFitIsNamed) {
  Buffer<float> out(3);
  const Buffer<float> x(4);
  test::expect_usage_error(
      [&] {
        apply_into(
            out, [](float value) { return value; }, x);
      },
      "4 values into 3 places");
  test::expect_usage_error([&] { assign(out, BitVector(5), 1.0F); }, "a mask of 5 bits for 3 values");
}

}  // namespace
}  // namespace bitgraph
