// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/edge_weights.hpp>

#include "support/everywhere.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace bitgraph {
namespace {

RC_GTEST_PROP(EdgeWeights, RoundTrip, ()) {
  const int most = *rc::gen::inRange(1, 256);
  const auto bytes = *rc::gen::container<std::vector<std::uint8_t>>(
      rc::gen::map(rc::gen::inRange(1, most + 1), [](int w) { return static_cast<std::uint8_t>(w); }));
  const EdgeWeights weights = pack_weights(bytes);
  RC_ASSERT(weights.size() == bytes.size());
  unsigned largest = 0;
  for (const unsigned w : bytes) largest = std::max(largest, w);
  RC_ASSERT(weights.num_planes() == std::bit_width(largest));
  RC_ASSERT(weights.bytes() == (bytes.size() + 63) / 64 * 8 * static_cast<std::size_t>(weights.num_planes()));
  for (std::size_t e = 0; e < bytes.size(); ++e) RC_ASSERT(weights.at(e) == bytes[e]);
  const auto back = unpack_weights(weights);
  RC_ASSERT(std::equal(back.begin(), back.end(), bytes.begin(), bytes.end()));
}

TEST(EdgeWeights, BitsBehindTheLastEntryAreZeroAndThreadsChangeNothing) {
  std::vector<std::uint8_t> bytes(100001, 255);
  const EdgeWeights one = pack_weights(bytes, Device::host(1));
  EXPECT_EQ(one.words().back() >> (bytes.size() % 64), 0U);
  test::with_thread_counts([&](const Device& device) {
    const EdgeWeights weights = pack_weights(bytes, device);
    EXPECT_TRUE(std::equal(weights.words().begin(), weights.words().end(), one.words().begin(), one.words().end()));
    EXPECT_EQ(unpack_weights(weights, device)[bytes.size() - 1], 255);
  });
}

TEST(EdgeWeights, ZeroIsRefused) {
  test::expect_usage_error([] { return pack_weights(std::vector<std::uint8_t>{3, 0}); }, "entry 1 is 0");
}

}  // namespace
}  // namespace bitgraph
