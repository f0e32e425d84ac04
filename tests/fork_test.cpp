// SPDX-License-Identifier: Apache-2.0
// Operators in a child that fork() made.
#include "support/mixed_work.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace bitgraph {
namespace {

TEST(Fork, AChildOfAProcessThatComputedComputesTheSame) {
  const test::MixedInput input;
  const CsrPattern graph = input.graph.to(Device::host(4));
  const std::vector<double> expected = test::mixed_work(input, graph);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // a child that hangs is ended
    ::_exit(test::mixed_work(input, graph) == expected ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(test::mixed_work(input, graph), expected);
}

}  // namespace
}  // namespace bitgraph
