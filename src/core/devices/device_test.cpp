// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/device.hpp>

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/error.hpp>

#include "support/cuda_device.hpp"
#include "support/expect_error.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <stop_token>
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

TEST(Device, HandlesOfTheHostAreEqualWhateverTheirThreads) {
  EXPECT_TRUE(Device::host(1) == Device::host(2));
  EXPECT_TRUE(Device() == Device::host(2));
  EXPECT_TRUE(same_place(Device(), Device::host(2)));
  require_same_place("spmm", "A", Device(), "X", Device::host(2));
  require_same_stream("spmm", "A", Device(), "X", Device::host(2));
  require_on_host("comparing", Device::host(2));
}

TEST(Device, StreamsOfOneCudaDeviceAreOnePlaceButNotEqual) {
  BITGRAPH_REQUIRE_CUDA();
  const Device a = Device::cuda();
  const Device b = Device::cuda();
  const Device copy = a;
  EXPECT_TRUE(same_place(a, b));
  EXPECT_FALSE(a == b);
  EXPECT_TRUE(a == copy);
  EXPECT_TRUE(a == Device::cuda(0, a.stream()));
  EXPECT_FALSE(same_place(a, Device()));
}

TEST(Device, MixedOperandsAreBothNamed) {
  BITGRAPH_REQUIRE_CUDA();
  const Device a = Device::cuda();
  const Device b = Device::cuda();
  require_same_place("spmm", "A", a, "X", b);
  test::expect_error([&] { require_same_place("spmm", "A", a, "X", Device()); }, ErrorCode::usage,
                     "spmm: A is on cuda:0, X on cpu; bring one to the other with to()");
  test::expect_error([&] { require_same_stream("spmm", "A", Device(), "X", b); }, ErrorCode::usage,
                     "spmm: A is on cpu, X on cuda:0; bring one to the other with to()");
  test::expect_error([&] { require_same_stream("spmm", "A", a, "X", b); }, ErrorCode::usage,
                     "spmm: A and X are both on cuda:0, but on different streams; bring one to the other with to(), or "
                     "share it with share()");
  test::expect_error([&] { require_on_host("comparing patterns", a); }, ErrorCode::usage,
                     "comparing patterns: the values are on cuda:0; bring them with to(Device{})");
}

TEST(Device, AStopTokenGoesAlongWithItsHandle) {
  std::stop_source source;
  const Device device = Device::host(2);
  const Device stoppable = device.with_stop(source.get_token());
  const Buffer<int> buffer(3, stoppable);
  EXPECT_EQ(stoppable.threads(), 2);
  EXPECT_EQ(device.memory().live, 3 * sizeof(int));  // one record of memory
  buffer.device().throw_if_stopped();
  source.request_stop();
  device.throw_if_stopped();
  test::expect_error([&] { buffer.device().throw_if_stopped(); }, ErrorCode::stopped, "stopped, as the caller asked");
  buffer.share(device).device().throw_if_stopped();
  stoppable.with_stop({}).throw_if_stopped();
}

}  // namespace
}  // namespace bitgraph
