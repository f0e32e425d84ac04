// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/parallel_loop.hpp>

#include <bitgraph/core/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace bitgraph {
namespace {

TEST(ParallelLoop, EveryIndexOnceInPiecesThatDoNotDependOnTheThreads) {
  for (const int threads : {1, 2, 5}) {
    const Device device = Device::host(threads);
    for (const std::size_t n : {0U, 1U, 63U, 64U, 65U, 1000U}) {
      std::vector<int> visits(n);
      std::vector<std::size_t> ends((n + 63) / 64);
      parallel_loop(device, n, 64, [&](std::size_t begin, std::size_t end) {
        ends[begin / 64] = end;
        EXPECT_EQ(begin % 64, 0U);
        for (std::size_t i = begin; i < end; ++i) ++visits[i];
      });
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(visits[i], 1);
      for (std::size_t piece = 0; piece < ends.size(); ++piece) EXPECT_EQ(ends[piece], std::min(n, 64 * (piece + 1)));
    }
  }
}

TEST(ParallelLoop, AnExceptionArrives) {
  EXPECT_THROW(parallel_loop(Device::host(2), 100, 1,
                             [](std::size_t begin, std::size_t) {
                               if (begin == 50) throw std::runtime_error("fifty");
                             }),
               std::runtime_error);
  EXPECT_THROW(parallel_loop({}, 10, 0, [](std::size_t, std::size_t) {}), Error);
}

}  // namespace
}  // namespace bitgraph
