// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/apply.hpp>

#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

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

TEST(Apply, ErrorsNameOperandsThatDoNotFit) {
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

template <class T>
void expect_same_assignments(std::size_t size, T before, T value) {
  const Device& device = *test::cuda_device();
  BitVector mask(size);
  for (std::size_t i = 0; i < size; i += 3) mask.set_bit(i, true);
  const BitVector mask_there = mask.to(device);
  for (const int masked : {0, 1, 2}) {
    Buffer<T> here(size, before);
    Buffer<T> there = here.to(device);
    assign(here, masked == 0 ? Mask() : (masked == 1 ? Mask(mask) : ~mask), value);
    assign(there, masked == 0 ? Mask() : (masked == 1 ? Mask(mask_there) : ~mask_there), value);
    const Buffer<T> back = there.to(Device{});
    EXPECT_TRUE(std::equal(back.begin(), back.end(), here.begin(), here.end()));
  }
}

TEST(ApplyOnCuda, Assign) {
  BITGRAPH_REQUIRE_CUDA();
  struct Triple {
    std::uint16_t values[3];
    bool operator==(const Triple& other) const { return std::equal(values, values + 3, other.values); }
  };
  for (const std::size_t size : {0U, 1U, 64U, 65U, 100001U}) {
    expect_same_assignments<std::uint8_t>(size, 3, 200);
    expect_same_assignments<float>(size, 3.0F, 0.5F);
    expect_same_assignments<double>(size, 3.0, 0.1);
    expect_same_assignments<Triple>(size, {{1, 2, 3}}, {{40000, 5, 6}});
  }
}

TEST(ApplyOnCuda, AFunctionOfTheHostIsRefused) {
  BITGRAPH_REQUIRE_CUDA();
  Buffer<float> x(3, 0.0F, *test::cuda_device());
  try {
    apply_in_place(x, [](float value) { return value + 1; });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
  }
}

}  // namespace
}  // namespace bitgraph
