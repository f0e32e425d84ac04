// SPDX-License-Identifier: Apache-2.0
// Parallel loops in a child that fork() made: the threads of the parent are not there.
#include "core/threads/parallel.hpp"
#include "core/threads/thread_chunks.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bitgraph {
namespace {

/// Prefix sums and sums of chunks, by loops of every kind.
std::vector<std::uint64_t> by_parallel_loops(const Device& device) {
  constexpr std::size_t n = 200'000;
  std::vector<std::uint64_t> values(n);
  parallel_for(device, n, 100, [&](std::size_t i) { values[i] = i % 7; });
  exclusive_scan(device, std::span(values));
  std::vector<std::uint64_t> sums(n / 1000 + 1);
  parallel_chunks(device, n, 1000, [&](Range range) {
    for (std::size_t i = range.begin; i < range.end; ++i) sums[i / 1000] += values[i];
  });
  std::vector<std::uint64_t> of_workspaces(num_workspaces(device, n, 1000));
  for_chunks_of_threads(device, n, 1000, [&](std::size_t workspace, Range range) {
    for (std::size_t i = range.begin; i < range.end; ++i) of_workspaces[workspace] += values[i];
  });
  for (const std::uint64_t sum : of_workspaces) sums.back() += sum;
  return sums;
}

/// How a forked child ends that runs `work`: its exit status, or minus the signal. A child that hangs is ended.
template <class Work>
int end_of_child(Work&& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    ::_exit(work() ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return -1000;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(HostPool, AForkedChildRunsItsLoopsOnOneThread) {
  const Device device = Device::host(4);
  const std::vector<std::uint64_t> expected = by_parallel_loops(device);
  EXPECT_EQ(end_of_child([&] { return by_parallel_loops(device) == expected; }), 0);
  EXPECT_EQ(end_of_child([&] { return device.threads() == 1 && Device().threads() == 1; }), 0);
  EXPECT_EQ(end_of_child([&] { return by_parallel_loops(Device::host(3)) == expected; }), 0);
  EXPECT_EQ(device.threads(), 4);
  EXPECT_EQ(by_parallel_loops(device), expected);
}

TEST(HostPool, AChildOfAForkedChildDoesToo) {
  const Device device = Device::host(2);
  const std::vector<std::uint64_t> expected = by_parallel_loops(device);
  EXPECT_EQ(end_of_child([&] { return end_of_child([&] { return by_parallel_loops(device) == expected; }) == 0; }), 0);
}

TEST(HostPool, AScanWithinAParallelLoopIsOneThreads) {
  constexpr std::size_t n = 100'000;  // enough for several threads
  const Device device = Device::host(3);
  std::vector<std::vector<std::uint64_t>> counts(2, std::vector<std::uint64_t>(n, 1));
  parallel_region(device, [&](int thread, int) {  // the third thread does not take part
    if (thread < 2) exclusive_scan(device, std::span(counts[static_cast<std::size_t>(thread)]));
  });
  for (const auto& of_thread : counts) EXPECT_EQ(of_thread.back(), n - 1);
}

}  // namespace
}  // namespace bitgraph
