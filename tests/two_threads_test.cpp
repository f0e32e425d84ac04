// SPDX-License-Identifier: Apache-2.0
// Two host threads, each with a handle of its own, at work at once.
#include "support/cuda_device.hpp"
#include "support/mixed_work.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace bitgraph {
namespace {

constexpr int rounds = 3;

/// What each of two threads gets from rounds of work over its graph; an exception ends a thread with its message.
void expect_same_in_both(const test::MixedInput& input, const std::array<CsrPattern, 2>& graphs,
                         const std::vector<double>& expected) {
  std::array<std::size_t, 2> same{};
  std::array<std::string, 2> error;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      try {
        for (int round = 0; round < rounds; ++round)
          same[t] += test::mixed_work(input, graphs[t]) == expected ? 1U : 0U;
      } catch (const std::exception& caught) {
        error[t] = caught.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < 2; ++t) {
    EXPECT_EQ(error[t], "");
    EXPECT_EQ(same[t], rounds) << "thread " << t;
  }
}

/// Each thread works with a copy of the graph under its handle, then with storage that both share.
void expect_two_handles_work(const Device& first, const Device& second) {
  const test::MixedInput input;
  const CsrPattern graph = input.graph.to(first);
  const std::vector<double> expected = test::mixed_work(input, graph);
  expect_same_in_both(input, {input.graph.to(first), input.graph.to(second)}, expected);
  expect_same_in_both(input, {graph.share(), graph.share(second)}, expected);
}

TEST(TwoThreads, OfOneHostThreadEach) { expect_two_handles_work(Device::host(1), Device::host(1)); }

TEST(TwoThreads, OfTwoHostThreadsEach) { expect_two_handles_work(Device::host(2), Device::host(2)); }

TEST(TwoThreads, OfAStreamOfACudaDeviceEach) {
  BITGRAPH_REQUIRE_CUDA();
  expect_two_handles_work(Device::cuda(), Device::cuda());
}

}  // namespace
}  // namespace bitgraph
