// SPDX-License-Identifier: Apache-2.0
// Storage of a CUDA device that two handles use, each with a stream of its own, and plain storage.
#include <bitgraph/core/buffer.hpp>

#include "support/busy_stream.hpp"
#include "support/cuda_device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace bitgraph {
namespace {

using test::busy_size;
using test::keep_busy;
using test::others;

TEST(BufferOnCuda, ASharedBufferComesBehindTheWorkOfTheFirstHandle) {
  BITGRAPH_REQUIRE_CUDA();
  const Device a = Device::cuda();
  const Device b = Device::cuda();
  Buffer<std::uint32_t> buffer(busy_size, 0U, a);
  keep_busy(buffer);
  buffer.fill(7);
  const Buffer<std::uint32_t> shared = buffer.share(b);
  EXPECT_TRUE(shared.device() == b);
  EXPECT_EQ(others(shared, 7), 0U);  // read in b's stream
}

TEST(BufferOnCuda, StorageIsNotUsedAgainBeforeTheOtherHandleIsDone) {
  BITGRAPH_REQUIRE_CUDA();
  const Device a = Device::cuda();
  const Device b = Device::cuda();
  Buffer<std::uint32_t> from(busy_size, 7U, a);
  Buffer<std::uint32_t> to(busy_size, 0U, b);
  Buffer<std::uint32_t> shared = from.share(b);
  from = {};
  keep_busy(to);
  Device::copy(to.data(), b, shared.data(), b, shared.bytes());
  shared = {};                                         // the last one: a's stream has the storage again
  const Buffer<std::uint32_t> next(busy_size, 9U, a);  // perhaps the same storage
  EXPECT_EQ(others(to, 7), 0U);
  EXPECT_EQ(others(next, 9), 0U);
}

TEST(BufferOnCuda, OneHandleWaitsForAnother) {
  BITGRAPH_REQUIRE_CUDA();
  const Device a = Device::cuda();
  const Device b = Device::cuda();
  Buffer<std::uint32_t> buffer(busy_size, 0U, a);
  const Buffer<std::uint32_t> shared = buffer.share(b);
  keep_busy(buffer);
  buffer.fill(7);
  b.wait_for(a);
  EXPECT_EQ(others(shared, 7), 0U);
  a.wait_for(Device{});
  Device{}.wait_for(a);
}

TEST(BufferOnCuda, PlainStorageIsCountedAndFreed) {
  BITGRAPH_REQUIRE_CUDA();
  const Device device = Device::cuda();
  {
    Buffer<std::uint32_t> plain(1000, device, Storage::plain);
    plain.fill(7);
    EXPECT_EQ(others(plain, 7), 0U);
    const Buffer<std::uint32_t> shared = plain.share();
    const Buffer<std::uint32_t> from_pool = plain.to(device);
    plain = {};
    EXPECT_EQ(others(shared, 7), 0U);
    EXPECT_EQ(others(from_pool, 7), 0U);
    EXPECT_EQ(device.memory().live, 8000U);
  }
  EXPECT_EQ(device.memory().live, 0U);
  EXPECT_EQ(device.memory().peak, 8000U);
}

TEST(BufferOnCuda, PlainStorageGetsWhatThePoolDoesNotUse) {
  BITGRAPH_REQUIRE_CUDA();
  const Device device = Device::cuda();
  std::size_t large = std::size_t{1} << 30;
  try {
    while (true) large = Buffer<std::byte>(large * 2, device).size();  // the pool keeps it
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
  }
  const Buffer<std::byte> plain(large, device, Storage::plain);
  EXPECT_EQ(plain.size(), large);
}

TEST(BufferOnCuda, MoreThanThereIsIsRefused) {
  BITGRAPH_REQUIRE_CUDA();
  const Device device = Device::cuda();
  EXPECT_THROW(Buffer<std::byte>(std::size_t{1} << 50, device, Storage::plain), Error);
  EXPECT_EQ(device.memory().live, 0U);
  Buffer<std::uint32_t> next(10, 3U, device);  // the error is not sticky
  EXPECT_EQ(others(next, 3), 0U);
}

}  // namespace
}  // namespace bitgraph
