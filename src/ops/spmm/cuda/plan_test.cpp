// SPDX-License-Identifier: Apache-2.0
// Which kernel a product on a CUDA device gets: no device is needed to choose.
#include "ops/spmm/cuda/plan.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace bitgraph::spmm_cuda {
namespace {

/// A vote over a graph with skewed rows, on a device of 132 multiprocessors.
Problem skewed_vote() {
  return {.nrows = 90'000,
          .ncols = 90'000,
          .entries = 900'000,
          .longest_row = 5'000,
          .features = 256,
          .bits_in = true,
          .bits_out = true,
          .aligned = true,
          .multiprocessors = 132};
}

Problem float_sum(std::size_t features) {
  Problem p = skewed_vote();
  p.features = features;
  p.bits_in = p.bits_out = false;
  return p;
}

std::string described(const Problem& problem) { return describe(plan(problem)); }

TEST(SpmmPlan, VotesOfSkewedRowsTakeTheOrderWhereThereIsOne) {
  Problem p = skewed_vote();
  EXPECT_EQ(described(p), "spmm_vote, 8 lanes");
  p.ordered = true;
  EXPECT_EQ(described(p), "spmm_vote_ordered, 2 lanes x 4 words");
  p.features = 128;
  EXPECT_EQ(described(p), "spmm_vote_ordered, 1 lanes x 4 words");
  p.features = 64;
  EXPECT_EQ(described(p), "spmm_vote_ordered, 1 lanes x 2 words");
  p.features = 512;
  EXPECT_EQ(described(p), "spmm_vote_ordered, 4 lanes x 4 words");
  p.aligned = false;
  EXPECT_EQ(described(p), "spmm_vote_ordered, 8 lanes x 2 words");
}

TEST(SpmmPlan, VotesOfManyEntriesInOrderTakeLargeBlocks) {
  Problem p = skewed_vote();
  p.ordered = true;
  p.entries = EdgeOffset{1} << 25;
  EXPECT_EQ(described(p), "spmm_vote_ordered, 2 lanes x 4 words, 768 threads");
  p.features = 512;
  EXPECT_EQ(described(p), "spmm_vote_ordered, 4 lanes x 4 words") << "four lanes a row keep small blocks";
  p.features = 64;
  EXPECT_EQ(described(p), "spmm_vote_ordered, 1 lanes x 2 words, 768 threads");
  --p.entries;
  EXPECT_EQ(described(p), "spmm_vote_ordered, 1 lanes x 2 words");
}

TEST(SpmmPlan, VotesOfShortRowsNeedNoOrder) {
  Problem p = skewed_vote();
  p.longest_row = 63;
  EXPECT_EQ(described(p), "spmm_vote_short, 2 lanes x 4 words");
  p.bits_out = false;
  EXPECT_EQ(described(p), "spmm_vote_short, 8 lanes");
  p.longest_row = 64;
  EXPECT_EQ(described(p), "spmm_vote, 8 lanes");
}

TEST(SpmmPlan, SmallGraphsAreNotCutIntoSpans) {
  Problem p = skewed_vote();
  p.nrows = p.ncols = 2'708;
  p.entries = 13'000;
  EXPECT_EQ(described(p), "spmm_vote_direct, 8 lanes");
  p.entries = (std::size_t{1} << 21) / 4 - 2'708;
  EXPECT_EQ(plan(p).kernel, Kernel::vote_direct);
  ++p.entries;
  EXPECT_EQ(plan(p).kernel, Kernel::vote_spans);
}

TEST(SpmmPlan, SumsOfFewFeaturesGoSideBySide) {
  EXPECT_EQ(described(float_sum(7)), "spmm_sum_narrow, 2 lanes");
  EXPECT_EQ(described(float_sum(16)), "spmm_sum_narrow, 4 lanes");
  EXPECT_EQ(described(float_sum(32)), "spmm_sum_narrow, 8 lanes");
  Problem few = float_sum(64);
  EXPECT_EQ(described(few), "spmm_stream, 16 lanes") << "entries are many";
  few.entries = 500'000;
  EXPECT_EQ(described(few), "spmm_sum_narrow, 16 lanes") << "rows are short, and none is a hub";
  Problem hub = few;
  hub.longest_row = hub.entries / 64 + 1;
  EXPECT_EQ(described(hub), "spmm_stream, 16 lanes");
  EXPECT_EQ(described(float_sum(128)), "spmm_stream, 32 lanes");
}

TEST(SpmmPlan, WeightsGoIntoACopyOfXWhereItPays) {
  Problem p = float_sum(16);
  p.weighted = true;
  EXPECT_EQ(described(p), "spmm_sum_narrow, 4 lanes, from a copy of X");
  p.entries = p.nrows - 1;
  EXPECT_EQ(described(p), "spmm_stream, 16 lanes");
  p = float_sum(128);
  p.weighted = true;
  p.entries = EdgeOffset{64} * p.nrows;
  EXPECT_EQ(described(p), "spmm_stream, 16 lanes, from a copy of X");
}

TEST(SpmmPlan, SumsOfEvenRowsGoRowByRow) {
  Problem p = float_sum(128);
  p.longest_row = 20;
  EXPECT_EQ(described(p), "spmm_sum_short, 16 lanes");
  p.nrows = p.ncols = 1'000'000;
  p.entries = 4'000'000;
  p.longest_row = 8;
  EXPECT_EQ(described(p), "spmm_sum_mesh, 32 lanes");
  p.longest_row = 17;
  EXPECT_EQ(described(p), "spmm_stream, 16 lanes") << "a great many entries are summed up in slices";
}

TEST(SpmmPlan, SignsOfManySumsComeFromHalves) {
  Problem p = float_sum(128);
  p.bits_out = p.ordered = true;
  p.entries = 2'000'000;
  EXPECT_EQ(described(p), "spmm_signs_of_fp16, 16 lanes, from a copy of X in 16 bits");
  p.has_epilogue = true;
  EXPECT_NE(plan(p).kernel, Kernel::signs_of_fp16);
  p.has_epilogue = false;
  p.entries = 1'899'999;
  EXPECT_NE(plan(p).kernel, Kernel::signs_of_fp16);
}

TEST(SpmmPlan, ThresholdsAreThoseOfTheTuning) {
  CudaSpmmTuning tuning;
  Problem p = skewed_vote();
  EXPECT_EQ(plan(p, tuning).kernel, Kernel::vote_spans);
  tuning.vote.small_vote = std::size_t{1} << 30;
  EXPECT_EQ(plan(p, tuning).kernel, Kernel::vote_direct);
}

double predicted_us(const Problem& problem) { return predict(problem, plan(problem)).seconds * 1e6; }

TEST(SpmmPlan, PredictionsGrowWithEveryExtent) {
  for (const Problem& p : {skewed_vote(), float_sum(128)}) {
    Problem more = p;
    more.entries *= 2;
    EXPECT_GT(predicted_us(more), predicted_us(p));
    more = p;
    more.features *= 2;
    EXPECT_GT(predicted_us(more), predicted_us(p));
    more = p;
    more.nrows *= 2;
    EXPECT_GT(predicted_us(more), predicted_us(p));
  }
}

/// Measured: docs/performance/cuda.md. Reddit size gathers 115 M rows of 16 bytes, a sector each; votes beat the roof
/// of the second-level cache, because rows in order meet in the first.
TEST(SpmmPlan, PredictionsAreWithinAFactorOfThreeOfMeasurements) {
  const auto expect_near = [](const Problem& p, double measured_us) {
    EXPECT_GT(predicted_us(p), measured_us / 3);
    EXPECT_LT(predicted_us(p), measured_us * 3);
  };
  Problem reddit = skewed_vote();
  reddit.nrows = reddit.ncols = 232'965;
  reddit.entries = 114'600'000;
  reddit.longest_row = 10'978;
  reddit.features = 128;
  reddit.ordered = true;
  expect_near(reddit, 561);
  reddit.bits_in = reddit.bits_out = false;
  expect_near(reddit, 6'155);
  Problem flickr = skewed_vote();
  flickr.ordered = true;
  expect_near(flickr, 10.8);
}

/// Every shape that an engineer may think of gets a kernel, each kernel of the list is reached, and costs something.
TEST(SpmmPlan, EveryProblemHasAKernelAndEveryKernelAProblem) {
  std::set<Kernel> reached;
  for (const NodeId nrows : {1U, 3'000U, 90'000U, 1'000'000U}) {
    for (const EdgeOffset mean : {0U, 1U, 5U, 30U, 500U}) {
      for (const EdgeOffset longest : {1U, 16U, 63U, 255U, 100'000U}) {
        for (const std::size_t features : {1U, 7U, 16U, 33U, 64U, 100U, 128U, 600U}) {
          for (unsigned flags = 0; flags < 128; ++flags) {
            const Problem p{.tiles = (flags & 1U) != 0,
                            .nrows = nrows,
                            .ncols = nrows,
                            .entries = mean * nrows,
                            .longest_row = longest,
                            .features = features,
                            .bits_in = (flags & 2U) != 0,
                            .bits_out = (flags & 4U) != 0,
                            .aligned = (flags & 8U) != 0,
                            .weighted = (flags & 16U) != 0,
                            .ordered = (flags & 32U) != 0,
                            .has_epilogue = (flags & 64U) != 0,
                            .multiprocessors = 132};
            const Plan chosen = plan(p);
            reached.insert(chosen.kernel);
            EXPECT_GT(predict(p, chosen).bytes, 0);
            EXPECT_GT(predict(p, chosen).seconds, 0);
          }
        }
      }
    }
  }
  EXPECT_EQ(reached.size(), kernels().size());
}

}  // namespace
}  // namespace bitgraph::spmm_cuda
