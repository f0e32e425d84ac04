// SPDX-License-Identifier: Apache-2.0
#include "nn/tuning/within_loss.hpp"

#include <gtest/gtest.h>

namespace bitgraph::nn {
namespace {

TEST(WithinLoss, TakesTheCandidateExactlyAtTheBound) {
  for (int nodes = 100; nodes <= 1000; nodes += 100) {
    for (int best = nodes / 2; best <= nodes; best += 7) {
      const auto share = [&](int correct) { return static_cast<double>(correct) / nodes; };
      const int lost = nodes / 100;  // 1 %
      EXPECT_TRUE(within_loss(share(best - lost), share(best), 0.01)) << best << " of " << nodes;
      EXPECT_FALSE(within_loss(share(best - lost - 1), share(best), 0.01)) << best << " of " << nodes;
      EXPECT_TRUE(within_loss(share(best), share(best), 0));
      EXPECT_FALSE(within_loss(share(best - 1), share(best), 0));
    }
  }
}

}  // namespace
}  // namespace bitgraph::nn
