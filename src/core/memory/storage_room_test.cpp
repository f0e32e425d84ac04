// SPDX-License-Identifier: Apache-2.0
#include "core/memory/storage_room.hpp"

#include "support/cuda_device.hpp"

#include <bitgraph/core/buffer.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

constexpr std::size_t step = StorageRoom::alignment;

std::vector<Device> places() {
  std::vector<Device> devices{Device::host(2)};
  if (test::cuda_device()) devices.push_back(Device::cuda());
  return devices;
}

TEST(StorageRoom, BuffersLieInItOneBehindTheOther) {
  for (const Device& device : places()) {
    Buffer<std::byte> memory(8 * step, device);
    const auto room = std::make_shared<StorageRoom>(memory.data(), memory.size());
    const Device inside = device.with_room(room);
    EXPECT_TRUE(inside == device);
    const std::size_t live = device.memory().live, allocations = device.memory().allocations;
    const auto first = Buffer<std::uint32_t>::copy_of(std::vector<std::uint32_t>{1, 2, 3}, inside);
    const auto second = Buffer<std::uint64_t>::copy_of(std::vector<std::uint64_t>(40, 7), inside);  // 320 bytes
    EXPECT_EQ(reinterpret_cast<const std::byte*>(first.data()), memory.data());
    EXPECT_EQ(reinterpret_cast<const std::byte*>(second.data()), memory.data() + step);
    EXPECT_EQ(room->used(), 3 * step);
    EXPECT_EQ(device.memory().live, live) << "the room counts, what is in it does not";
    EXPECT_EQ(device.memory().allocations, allocations);
    EXPECT_EQ(inside.memory().live, live) << "one record";
    EXPECT_EQ(first.to(Device{})[2], 3U);
  }
}

TEST(StorageRoom, WhatDoesNotFitLiesOutside) {
  for (const Device& device : places()) {
    Buffer<std::byte> memory(2 * step + step / 2, device);
    const auto room = std::make_shared<StorageRoom>(memory.data(), memory.size());
    const Device inside = device.with_room(room);
    const std::size_t live = device.memory().live;
    {
      const Buffer<std::byte> fits(2 * step, inside), none(step, inside), huge(100 * step, inside);
      EXPECT_EQ(room->used(), 2 * step);
      EXPECT_EQ(device.memory().live, live + 101 * step);
    }
    EXPECT_EQ(device.memory().live, live);
    EXPECT_EQ(room->used(), 0U);
    room->close();
    const Buffer<std::byte> late(step, inside);
    EXPECT_EQ(room->used(), 0U);
  }
}

TEST(StorageRoom, ReopenedGivesTheGapsOfWhatWasUsed) {
  std::vector<std::byte> memory(8 * step);
  StorageRoom room(memory.data(), memory.size());
  void* const a = room.take(2 * step);
  void* const b = room.take(step);
  room.close();
  EXPECT_TRUE(room.give_back(a));
  EXPECT_EQ(room.take(step), nullptr);
  room.reopen();
  EXPECT_EQ(room.take(3 * step), nullptr) << "there is room behind what was used, and it stays free";
  EXPECT_EQ(room.take(2 * step), a);
  EXPECT_EQ(room.take(1), nullptr);
  EXPECT_EQ(room.used(), 3 * step);
  EXPECT_TRUE(room.give_back(b));
}

TEST(StorageRoom, WhatIsGivenBackIsTakenAgain) {
  std::vector<std::byte> memory(8 * step);
  StorageRoom room(memory.data(), memory.size());
  void* const a = room.take(1);
  void* const b = room.take(2 * step);
  void* const c = room.take(step);
  EXPECT_TRUE(room.give_back(b));
  EXPECT_EQ(room.used(), 4 * step);
  EXPECT_EQ(room.take(3 * step), memory.data() + 4 * step) << "the gap is too small";
  EXPECT_EQ(room.take(step), b);
  EXPECT_EQ(room.take(step), memory.data() + 2 * step);
  EXPECT_EQ(room.take(2 * step), nullptr);
  EXPECT_TRUE(room.give_back(a));
  EXPECT_TRUE(room.give_back(c));
  std::byte other{};
  EXPECT_FALSE(room.give_back(&other));
  EXPECT_FALSE(room.give_back(memory.data() + memory.size()));
}

/// The bytes of a room in another place are the values of its buffers.
TEST(StorageRoom, AllOfItGoesAndComesInOneCopy) {
  for (const Device& device : places()) {
    Buffer<std::byte> memory(64 * step, device);
    const auto room = std::make_shared<StorageRoom>(memory.data(), memory.size());
    const Device inside = device.with_room(room);
    const auto wide = Buffer<std::uint64_t>::copy_of(std::vector<std::uint64_t>(1000, 3), inside);
    const auto narrow = Buffer<std::uint16_t>::copy_of(std::vector<std::uint16_t>{5, 6, 7}, inside);
    room->close();
    Buffer<std::byte> kept(room->used());
    Device::copy(kept.data(), Device{}, memory.data(), device, kept.bytes());
    memory.fill(std::byte{0xFF});
    Device::copy(memory.data(), device, kept.data(), Device{}, kept.bytes());
    EXPECT_EQ(wide.to(Device{})[999], 3U);
    EXPECT_EQ(narrow.to(Device{})[2], 7U);
  }
}

}  // namespace
}  // namespace bitgraph
