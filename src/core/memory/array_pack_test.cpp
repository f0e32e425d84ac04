// SPDX-License-Identifier: Apache-2.0
#include "core/memory/array_pack.hpp"

#include "support/cuda_device.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace bitgraph {
namespace {

std::vector<Device> places() {
  std::vector<Device> devices{Device{}};
  if (test::cuda_device()) devices.push_back(*test::cuda_device());
  return devices;
}

struct Arrays {
  ArrayPack::Place<std::uint64_t> wide;
  ArrayPack::Place<float> none;
  ArrayPack::Place<std::uint32_t> narrow;
};

/// Arrays of n, 0 and 3 n values, counted from `first`.
Arrays fill(ArrayPack& pack, std::size_t n, std::uint32_t first) {
  pack.clear();
  const Arrays arrays{pack.add<std::uint64_t>(n), pack.add<float>(0), pack.add<std::uint32_t>(3 * n)};
  std::iota(pack[arrays.wide].begin(), pack[arrays.wide].end(), first);
  std::iota(pack[arrays.narrow].begin(), pack[arrays.narrow].end(), first);
  return arrays;
}

void expect(const ArrayPack& pack, const Arrays& arrays, std::size_t n, std::uint32_t first) {
  const auto wide = pack.lend(arrays.wide).to(Device{});
  const auto narrow = pack.lend(arrays.narrow).to(Device{});
  EXPECT_TRUE(pack.lend(arrays.none).empty());
  ASSERT_EQ(wide.size(), n);
  ASSERT_EQ(narrow.size(), 3 * n);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(wide[i], first + i);
  for (std::size_t i = 0; i < 3 * n; ++i) ASSERT_EQ(narrow[i], first + i);
}

TEST(ArrayPack, ArraysArriveWholeHoweverTheMemoryGrows) {
  for (const Device& device : places()) {
    ArrayPack pack;
    Buffer<std::byte> there;
    std::uint32_t first = 1;
    for (const std::size_t n : {10U, 1000U, 3U, 0U, 1500U, 1400U}) {
      const Arrays arrays = fill(pack, n, first += 7);
      pack.upload(there, device);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pack.lend(arrays.narrow).data()) % 64, 0U);
      expect(pack, arrays, n, first);
      pack.wait();
    }
  }
}

TEST(ArrayPack, ValuesStayWhenAnArrayIsAdded) {
  ArrayPack pack;
  const auto first = pack.add<std::uint32_t>(5);
  std::iota(pack[first].begin(), pack[first].end(), 3U);
  const auto second = pack.add<float>(100000);
  pack[second][99999] = 1;
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(pack[first][i], 3 + i);
}

/// A device reads a pack while the next one is filled, and both go to the same memory there.
TEST(ArrayPack, TwoPacksTakeTurns) {
  for (const Device& device : places()) {
    std::vector<ArrayPack> packs(2);
    Buffer<std::byte> there;
    for (std::uint32_t turn = 0; turn < 20; ++turn) {
      ArrayPack& pack = packs[turn % 2];
      pack.wait();
      const Arrays arrays = fill(pack, 50000, turn);
      pack.upload(there, device);
      const auto kept = pack.lend(arrays.narrow).clone();  // in the order of the stream
      pack.wait();
      std::ranges::fill(pack[arrays.narrow], 0U);
      EXPECT_EQ(kept.to(Device{})[7], turn + 7) << device.name();
    }
  }
}

}  // namespace
}  // namespace bitgraph
