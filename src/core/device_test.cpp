// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/device.hpp>

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace bitgraph {
namespace {

TEST(Device, CountsItsBuffers) {
  const Device device = Device::host(1);
  {
    const Buffer<std::uint32_t> a(10, device);
    const Buffer<std::byte> b(5, device);
    EXPECT_EQ(device.memory().live, 45U);
  }
  EXPECT_EQ(device.memory().live, 0U);
  EXPECT_EQ(device.memory().peak, 45U);
  EXPECT_EQ(device.memory().allocations, 2U);
  device.reset_peak();
  EXPECT_EQ(device.memory().peak, 0U);
}

TEST(Device, RefusesMoreThanTheMachineHas) {
  const Device device = Device::host(1);
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t bytes : {std::size_t{1} << 50, most / 2, most - 1, most}) {
    try {
      const Buffer<std::byte> buffer(bytes, device);
      ADD_FAILURE() << bytes << " bytes were given";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::not_possible);
      const std::string said = error.what();
      EXPECT_TRUE(said.starts_with("not enough memory: " + std::to_string(bytes) + " bytes are needed and ")) << said;
      EXPECT_TRUE(said.ends_with(" are missing")) << said;
    }
  }
  EXPECT_EQ(device.memory().live, 0U);
  EXPECT_EQ(device.memory().allocations, 0U);
}

}  // namespace
}  // namespace bitgraph
