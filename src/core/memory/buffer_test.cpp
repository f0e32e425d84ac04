// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/buffer.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace bitgraph {
namespace {

TEST(Buffer, SharedStorageLivesUntilTheLastBufferOverItIsGone) {
  for (const bool first_goes_first : {true, false}) {
    const Device device = Device::host(1);
    std::optional<Buffer<std::uint32_t>> first(std::in_place, 10, 3U, device);
    std::optional<Buffer<std::uint32_t>> second(first->share());
    EXPECT_EQ(second->data(), first->data());
    (*first)[2] = 7;
    EXPECT_EQ((*second)[2], 7U);
    EXPECT_EQ(device.memory().live, 40U);
    EXPECT_EQ(device.memory().allocations, 1U);

    std::optional<Buffer<std::uint32_t>>& gone = first_goes_first ? first : second;
    std::optional<Buffer<std::uint32_t>>& last = first_goes_first ? second : first;
    gone.reset();
    EXPECT_EQ(device.memory().live, 40U);
    EXPECT_EQ((*last)[2], 7U);
    const Buffer<std::uint32_t> third = last->share();
    last.reset();
    EXPECT_EQ(third[2], 7U);
    EXPECT_EQ(device.memory().live, 40U);
    EXPECT_EQ(device.memory().peak, 40U);
  }
}

TEST(Buffer, SharedStorageIsCountedOutOnce) {
  const Device device = Device::host(1);
  {
    const Buffer<std::uint64_t> a(4, device);
    Buffer<std::uint64_t> b = a.share();
    Buffer<std::uint64_t> c = b.share();
    b = std::move(c);  // one of the three goes
    EXPECT_EQ(device.memory().live, 32U);
    b = Buffer<std::uint64_t>(2, device);
    EXPECT_EQ(device.memory().live, 48U);
  }
  EXPECT_EQ(device.memory().live, 0U);
  EXPECT_EQ(device.memory().peak, 48U);
}

TEST(Buffer, FreesItsStorageAfterTheLastHandleOfTheCaller) {
  Buffer<std::byte> shared;
  {
    Device device = Device::host(1);
    const Buffer<std::byte> buffer(100, std::byte{5}, device);
    shared = buffer.share();
  }
  EXPECT_EQ(shared.device().memory().live, 100U);
  EXPECT_EQ(shared[99], std::byte{5});
}

TEST(Buffer, AnOwnerIsKeptAliveByEveryBufferOverItsValues) {
  auto owner = std::make_shared<std::array<float, 3>>(std::array<float, 3>{1, 2, 3});
  const std::weak_ptr<std::array<float, 3>> alive = owner;
  const Device device = Device::host(1);
  Buffer<float> borrowed = Buffer<float>::borrow(owner->data(), 3, owner, device);
  owner.reset();
  Buffer<float> shared = borrowed.share();
  borrowed = {};
  ASSERT_FALSE(alive.expired());
  EXPECT_EQ(shared[2], 3);
  EXPECT_EQ(device.memory().allocations, 0U);
  shared = {};
  EXPECT_TRUE(alive.expired());
}

TEST(Buffer, AnotherHandleOfThePlaceTakesASharedBuffer) {
  const Device one = Device::host(1);
  const Device three = Device::host(3);
  Buffer<int> shared;
  {
    const Buffer<int> buffer{{1, 2, 3}, one};
    shared = buffer.share(three);
    EXPECT_EQ(shared.data(), buffer.data());
  }
  EXPECT_EQ(shared.device().threads(), 3);
  EXPECT_EQ(shared[1], 2);
  EXPECT_EQ(one.memory().live, 3 * sizeof(int));  // who made the storage has it in its record
  EXPECT_EQ(three.memory().allocations, 0U);
  shared = {};
  EXPECT_EQ(one.memory().live, 0U);
}

TEST(Buffer, SeveralThreadsMayShareOneAtOnce) {
  const Device device = Device::host(1);
  const Buffer<int> buffer(1000, 4, device);
  std::vector<std::thread> threads;
  std::array<Buffer<int>, 4> shared;
  for (Buffer<int>& mine : shared) {
    threads.emplace_back([&buffer, &mine] {
      for (int n = 0; n < 1000; ++n) mine = buffer.share();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Buffer<int>& mine : shared) EXPECT_EQ(mine[999], 4);
  EXPECT_EQ(device.memory().live, 1000 * sizeof(int));
  EXPECT_EQ(device.memory().allocations, 1U);
}

TEST(Buffer, AnEmptyBufferIsSharedToo) {
  const Buffer<int> empty;
  const Buffer<int> shared = empty.share();
  EXPECT_TRUE(shared.empty());
  EXPECT_EQ(shared.data(), nullptr);
}

TEST(Buffer, PlainStorageIsCountedAndSharedLikeOther) {
  const Device device = Device::host(1);
  {
    Buffer<int> plain(5, device, Storage::plain);
    plain.fill(6);
    const Buffer<int> shared = plain.share();
    plain = {};
    EXPECT_EQ(shared[4], 6);
    EXPECT_EQ(device.memory().live, 5 * sizeof(int));
    const Buffer<int> copy = shared.to(device, Storage::plain);
    EXPECT_EQ(copy[4], 6);
    EXPECT_EQ(device.memory().allocations, 2U);
  }
  EXPECT_EQ(device.memory().live, 0U);
}

TEST(Buffer, MovesWithoutThrowing) {
  static_assert(std::is_nothrow_move_constructible_v<Buffer<int>> && std::is_nothrow_move_assignable_v<Buffer<int>>);
  static_assert(sizeof(Buffer<int>) <= 64);
}

}  // namespace
}  // namespace bitgraph
