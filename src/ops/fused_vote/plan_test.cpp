// SPDX-License-Identifier: Apache-2.0
// Which shape a fused vote has on a CUDA device: no device is needed to choose.
#include "ops/fused_vote/plan.hpp"

#include "support/random_matrices.hpp"

#include <bitgraph/ops/fused_vote.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace bitgraph::fused_cuda {
namespace {

Problem vote_of(std::size_t words, EdgeOffset entries) { return {.entries = entries, .words = words}; }

std::string described(const Problem& problem) { return describe(plan(problem)); }

TEST(FusedVotePlan, LanesAndWordsFollowFromTheWidth) {
  EXPECT_EQ(described(vote_of(1, 13'000)), "fused_vote, 1 lanes x 2 words, 256 threads");
  EXPECT_EQ(described(vote_of(2, 13'000)), "fused_vote, 1 lanes x 4 words, 256 threads");
  EXPECT_EQ(described(vote_of(4, 13'000)), "fused_vote, 2 lanes x 4 words, 256 threads");
  EXPECT_EQ(described(vote_of(8, 13'000)), "fused_vote, 4 lanes x 4 words, 256 threads");
}

TEST(FusedVotePlan, ManyEntriesTakeLargeBlocks) {
  Problem p = vote_of(4, EdgeOffset{1} << 24);
  EXPECT_EQ(described(p), "fused_vote, 2 lanes x 4 words, 768 threads");
  p.operation = Operation::counts;
  EXPECT_EQ(described(p), "fused_counts, 2 lanes x 4 words, 768 threads");
  --p.entries;
  EXPECT_EQ(described(p), "fused_counts, 2 lanes x 4 words, 128 threads");
  p.words = 8;
  ++p.entries;
  EXPECT_EQ(described(p), "fused_counts, 4 lanes x 4 words, 128 threads") << "four lanes a row keep small blocks";
}

TEST(FusedVotePlan, ProductsTakeSmallBlocks) {
  Problem p = vote_of(4, 900'000);
  p.multiplied = true;
  EXPECT_EQ(described(p), "fused_vote, 2 lanes x 4 words, 128 threads");
  p.entries = EdgeOffset{1} << 24;
  EXPECT_EQ(described(p), "fused_vote, 2 lanes x 4 words, 768 threads");
}

void expect_classes(const Plan& plan, std::size_t hub, std::size_t warp, std::size_t group) {
  EXPECT_EQ(plan.hub_power, hub);
  EXPECT_EQ(plan.warp_power, warp);
  EXPECT_EQ(plan.group_power, group);
}

TEST(FusedVotePlan, LongRowsHaveAWarpWhereEntriesAreMany) {
  constexpr EdgeOffset many = EdgeOffset{1} << 22;
  expect_classes(plan(vote_of(1, many - 1)), 9, 8, 6);
  expect_classes(plan(vote_of(1, many)), 14, 8, 5);
  expect_classes(plan(vote_of(2, many)), 14, 8, 5);
  expect_classes(plan(vote_of(4, many)), 13, 8, 5);
  expect_classes(plan(vote_of(8, many)), 12, 8, 5);
}

TEST(FusedVotePlan, SumsHaveMoreThreadsForShortRows) {
  constexpr EdgeOffset many = EdgeOffset{1} << 22;
  const Problem few{.operation = Operation::score_sum, .entries = many - 1, .words = 1};
  EXPECT_EQ(described(few), "fused_score_sum, 1 lanes x 4 words, 128 threads");
  expect_classes(plan(few), 9, 6, 4);
  Problem more = few;
  more.entries = many;
  expect_classes(plan(more), 14, 8, 4);
}

TEST(FusedVotePlan, RowsOfScaledScoresHaveALaneForEachPart) {
  Problem p{.operation = Operation::scaled_sum, .entries = EdgeOffset{1} << 22, .words = 2};
  EXPECT_EQ(described(p), "fused_scaled_sum, 1 lanes x 4 words, 128 threads");
  p.words = 4;
  EXPECT_EQ(described(p), "fused_scaled_sum, 2 lanes x 4 words, 128 threads");
  p.words = 8;
  EXPECT_EQ(described(p), "fused_scaled_sum, 4 lanes x 4 words, 128 threads");
  expect_classes(plan(p), 14, 7, 4);
}

Problem sized(Operation operation, std::size_t rows, EdgeOffset entries) {
  return {.operation = operation,
          .entries = entries,
          .words = 2,
          .multiplied = true,
          .nrows = rows,
          .gathered_bytes = 16,
          .row_bytes = 164,
          .weights = 41};
}
double predicted_us(const Problem& problem) { return predict(problem, plan(problem)).seconds * 1e6; }

TEST(FusedVotePlan, EveryKernelHasAnOperationAndAPredictionThatGrows) {
  std::set<Kernel> reached;
  for (const Operation operation :
       {Operation::vote, Operation::score_sum, Operation::counts, Operation::score_rows, Operation::scaled_sum}) {
    const double once = predicted_us(sized(operation, 100'000, 1'000'000));
    EXPECT_GT(once, 0);
    EXPECT_GT(predicted_us(sized(operation, 200'000, 1'000'000)), once);
    const bool has_entries = operation != Operation::score_rows;
    EXPECT_EQ(predicted_us(sized(operation, 100'000, 2'000'000)) > once, has_entries);
    reached.insert(plan(sized(operation, 100'000, 1'000'000)).kernel);
  }
  EXPECT_EQ(reached.size(), kernels().size());
}

/// Measured: docs/notebook/networks-cuda.md, a kernel a step, GCN of Reddit size: counts of 128 bits times 41 weights.
TEST(FusedVotePlan, PredictionsAreWithinAFactorOfThreeOfMeasurements) {
  const double us = predicted_us(sized(Operation::counts, 232'965, 114'600'000));
  EXPECT_GT(us, 894.0 / 3);
  EXPECT_LT(us, 894.0 * 3);
}

TEST(FusedVotePlan, ThresholdsAreThoseOfTheTuning) {
  CudaFusedVoteTuning tuning;
  tuning.entries_for_large_blocks = 1'000;
  EXPECT_EQ(plan(vote_of(4, 1'000), tuning).threads, large_block);
}

TEST(FusedVoteExplain, NamesTheKernelAndCountsItsBytes) {
  const CsrPattern a = test::random_pattern(50, 50, 0.1, 1);
  const auto x = test::random_bits(50, 200, 2);
  const auto w = test::random_bits(7, 200, 3);
  BitMatrix<PlusMinusOne> votes(50, 200);
  DenseMatrix<float> products(50, 7);
  VoteUse use{.votes = &votes};
  KernelChoice choice = vote_explain(use, a, x);
  EXPECT_EQ(choice.kernel, "fused_vote, 2 lanes x 4 words, 256 threads");
  EXPECT_EQ(choice.bytes, static_cast<double>(a.nvals() * (4 + 32) + 50 * (8 + 4 + 32)));
  use.multiplied = &w;
  use.products = &products;
  choice = vote_explain(use, a, x);
  EXPECT_EQ(choice.kernel, "fused_vote, 2 lanes x 4 words, 128 threads");
  EXPECT_EQ(multiply_counts_explain(a, x, w).kernel, "fused_counts, 2 lanes x 4 words, 128 threads");
  EXPECT_EQ(add_scores_explain(a, RowScores(50, 7, 200, Device())).kernel,
            "fused_score_sum, 1 lanes x 4 words, 128 threads");
  const ScaledScores scaled(50, 41, 128, Device());
  EXPECT_EQ(score_rows_explain(scaled).kernel, "fused_score_rows, 1 lanes x 4 words, 128 threads");
  EXPECT_EQ(add_scores_explain(a, scaled).kernel, "fused_scaled_sum, 4 lanes x 4 words, 128 threads");
  EXPECT_EQ(add_scores_explain(a, scaled).bytes, static_cast<double>(a.nvals() * (4 + 64) + 50 * (8 + 4 + 41 * 4)));
}

}  // namespace
}  // namespace bitgraph::fused_cuda
