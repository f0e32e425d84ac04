// SPDX-License-Identifier: Apache-2.0
// Copies between handles of CUDA devices: each handle has a stream of its own.
#include <bitgraph/core/buffer.hpp>

#include "support/cuda_device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

constexpr std::size_t size = std::size_t{1} << 26;  // 256 MB: a fill takes long enough to be overtaken

/// Work that keeps a handle's stream busy for some milliseconds.
void keep_busy(Buffer<std::uint32_t>& buffer) {
  for (std::uint32_t n = 0; n < 60; ++n) buffer.fill(1000 + n);
}

/// How many values are not `expected`.
std::size_t others(const Buffer<std::uint32_t>& buffer, std::uint32_t expected) {
  const Buffer<std::uint32_t> here = buffer.to(Device{});
  return here.size() - static_cast<std::size_t>(std::count(here.begin(), here.end(), expected));
}

/// Two handles of device 0, and of devices 0 and 1 where there are two.
std::vector<std::pair<Device, Device>> pairs_of_handles() {
  std::vector<std::pair<Device, Device>> pairs{{Device::cuda(), Device::cuda()}};
  try {
    pairs.emplace_back(Device::cuda(0), Device::cuda(1));
  } catch (const Error&) {
    // one device
  }
  return pairs;
}

TEST(DeviceCopy, WaitsForWhatTheSourceWasAskedFor) {
  BITGRAPH_REQUIRE_CUDA();
  for (const auto& [a, b] : pairs_of_handles()) {
    Buffer<std::uint32_t> from(size, 0U, a);
    Buffer<std::uint32_t> to(size, 0U, b);
    b.synchronize();
    keep_busy(from);
    from.fill(7);
    Device::copy(to.data(), b, from.data(), a, from.bytes());
    EXPECT_EQ(others(to, 7), 0U) << a.name() << " to " << b.name();
  }
}

TEST(DeviceCopy, ComesAheadOfWhatTheSourceIsAskedForLater) {
  BITGRAPH_REQUIRE_CUDA();
  for (const auto& [a, b] : pairs_of_handles()) {
    Buffer<std::uint32_t> from(size, 7U, a);
    Buffer<std::uint32_t> to(size, 0U, b);
    a.synchronize();
    keep_busy(to);  // the copy has to wait
    Device::copy(to.data(), b, from.data(), a, from.bytes());
    from.fill(9);
    EXPECT_EQ(others(to, 7), 0U) << a.name() << " to " << b.name();
    EXPECT_EQ(others(from, 9), 0U);
  }
}

TEST(DeviceCopy, TheSourceMayBeFreedAtOnce) {
  BITGRAPH_REQUIRE_CUDA();
  for (const auto& [a, b] : pairs_of_handles()) {
    Buffer<std::uint32_t> to(size, 0U, b);
    Buffer<std::uint32_t> from(size, 7U, a);
    a.synchronize();
    keep_busy(to);
    Device::copy(to.data(), b, from.data(), a, from.bytes());
    from = Buffer<std::uint32_t>();
    Buffer<std::uint32_t> next(size, 9U, a);  // the memory that was freed
    EXPECT_EQ(others(to, 7), 0U) << a.name() << " to " << b.name();
    EXPECT_EQ(others(next, 9), 0U);
  }
}

}  // namespace
}  // namespace bitgraph
