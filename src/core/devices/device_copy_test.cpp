// SPDX-License-Identifier: Apache-2.0
// Copies between handles of CUDA devices: each handle has a stream of its own.
#include <bitgraph/core/buffer.hpp>

#include "support/busy_stream.hpp"
#include "support/cuda_device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

using test::busy_size;
using test::keep_busy;
using test::others;

/// Buffers of two handles, with nothing under way, and a copy from one to the other.
struct Ends {
  Device a, b;
  Buffer<std::uint32_t> from{busy_size, 7U, a};
  Buffer<std::uint32_t> to{busy_size, 0U, b};

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
    const Buffer<std::uint32_t> next(busy_size, 9U, ends.a);  // the memory that was freed
    EXPECT_EQ(others(ends.to, 7), 0U);
    EXPECT_EQ(others(next, 9), 0U);
  });
}

}  // namespace
}  // namespace bitgraph
