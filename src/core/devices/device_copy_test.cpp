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

/// Buffers of two handles, with nothing under way, and a copy from one to the other.
struct Ends {
  Device a, b;
  Buffer<std::uint32_t> from{size, 7U, a};
  Buffer<std::uint32_t> to{size, 0U, b};

  void copy() { Device::copy(to.data(), b, from.data(), a, from.bytes()); }
};

/// check(ends) for two handles of device 0, and for devices 0 and 1 where there are two.
template <class Check>
void for_each_pair_of_handles(Check&& check) {
  std::vector<std::pair<Device, Device>> pairs{{Device::cuda(), Device::cuda()}};
  try {
    pairs.emplace_back(Device::cuda(0), Device::cuda(1));
  } catch (const Error&) {
    // one device
  }
  for (const auto& [a, b] : pairs) {
    SCOPED_TRACE(a.name() + " to " + b.name());
    Ends ends{a, b};
    a.synchronize();
    b.synchronize();
    check(ends);
  }
}

TEST(DeviceCopy, WaitsForWhatTheSourceWasAskedFor) {
  BITGRAPH_REQUIRE_CUDA();
  for_each_pair_of_handles([](Ends& ends) {
    keep_busy(ends.from);
    ends.from.fill(8);
    ends.copy();
    EXPECT_EQ(others(ends.to, 8), 0U);
  });
}

TEST(DeviceCopy, ComesAheadOfWhatTheSourceIsAskedForLater) {
  BITGRAPH_REQUIRE_CUDA();
  for_each_pair_of_handles([](Ends& ends) {
    keep_busy(ends.to);  // the copy has to wait
    ends.copy();
    ends.from.fill(9);
    EXPECT_EQ(others(ends.to, 7), 0U);
    EXPECT_EQ(others(ends.from, 9), 0U);
  });
}

TEST(DeviceCopy, TheSourceMayBeFreedAtOnce) {
  BITGRAPH_REQUIRE_CUDA();
  for_each_pair_of_handles([](Ends& ends) {
    keep_busy(ends.to);
    ends.copy();
    ends.from = Buffer<std::uint32_t>();
    const Buffer<std::uint32_t> next(size, 9U, ends.a);  // the memory that was freed
    EXPECT_EQ(others(ends.to, 7), 0U);
    EXPECT_EQ(others(next, 9), 0U);
  });
}

}  // namespace
}  // namespace bitgraph
