// SPDX-License-Identifier: Apache-2.0
// Which kernel a product of a graph and a vector gets on a CUDA device: no device is needed to choose.
#include "ops/mxv/cuda/plan.hpp"

#include "ops/explain.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/ops/mxv.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace bitgraph::mxv_cuda {
namespace {

/// Values by a graph with skewed rows.
Problem skewed() { return {.nrows = 90'000, .entries = 900'000, .longest_row = 5'000}; }

std::string described(const Problem& problem) { return describe(plan(problem)); }

TEST(MxvPlan, SkewedRowsAreCutIntoChunks) {
  Problem p = skewed();
  EXPECT_EQ(described(p), "mxv_chunks of 128");
  p.entries = (EdgeOffset{1} << 20) - p.nrows;
  EXPECT_EQ(described(p), "mxv_chunks of 128");
  ++p.entries;
  EXPECT_EQ(described(p), "mxv_chunks of 256");
  p.bits_in = true;
  EXPECT_EQ(described(p), "mxv_chunks of 512");
}

TEST(MxvPlan, ShortRowsHaveAFewLanesEach) {
  Problem p = skewed();
  p.longest_row = 64;
  EXPECT_EQ(described(p), "mxv_short_rows, 4 lanes");
  p.longest_row = 65;
  EXPECT_EQ(described(p), "mxv_chunks of 128");
  p.longest_row = 8;
  p.entries = 600'000;
  EXPECT_EQ(described(p), "mxv_short_rows, 1 lanes");
  p.longest_row = 9;
  EXPECT_EQ(described(p), "mxv_short_rows, 2 lanes");
}

TEST(MxvPlan, FewShortRowsHaveMoreLanes) {
  Problem p = {.nrows = 1U << 16U, .entries = 1'500'000, .longest_row = 17};
  EXPECT_EQ(described(p), "mxv_short_rows, 8 lanes");
  p.bits_out = true;
  EXPECT_EQ(described(p), "mxv_short_rows, 4 lanes") << "units of a binary output are no smaller";
  p.bits_out = false;
  p.longest_row = 16;
  EXPECT_EQ(described(p), "mxv_short_rows, 4 lanes");
}

TEST(MxvPlan, ManyRowsAreShortOnTheMeanToo) {
  Problem p = {.nrows = 100'000, .entries = 1'699'999, .longest_row = 60};
  EXPECT_EQ(described(p), "mxv_short_rows, 4 lanes") << "16 entries in the mean, rounded down";
  p.entries = 1'700'000;
  EXPECT_EQ(described(p), "mxv_chunks of 256");
  p.bits_in = true;
  p.entries = 899'999;
  EXPECT_EQ(described(p), "mxv_short_rows, 2 lanes");
  p.entries = 900'000;
  EXPECT_EQ(described(p), "mxv_chunks of 128");
}

TEST(MxvPlan, TilesAndTransposesHaveAKernelEach) {
  Problem p = skewed();
  p.tiles = true;
  EXPECT_EQ(described(p), "mxv_tiles");
  p.transposed = true;
  EXPECT_EQ(described(p), "vxm_rows");
}

/// Numbers of 4 bytes by pattern CSR of n rows and some entries.
Problem sized(NodeId n, EdgeOffset entries) {
  return {.nrows = n,
          .entries = entries,
          .longest_row = 1'000,
          .graph_bytes = 8 * (std::size_t{n} + 1) + 4 * entries,
          .gathers = entries,
          .gathered_bytes = 4,
          .x_bytes = std::size_t{4} * n,
          .out_bytes = std::size_t{4} * n};
}
double predicted_us(const Problem& problem) { return predict(problem, plan(problem)).seconds * 1e6; }

TEST(MxvPlan, PredictionsGrowWithRowsAndEntries) {
  for (unsigned flags = 0; flags < 4; ++flags) {
    const auto of = [&](NodeId n, EdgeOffset entries) {
      Problem p = sized(n, entries);
      p.tiles = (flags & 1U) != 0;
      p.transposed = (flags & 2U) != 0;
      return predicted_us(p);
    };
    EXPECT_GT(of(100'000, 1'000'000), 0);
    EXPECT_GT(of(200'000, 1'000'000), of(100'000, 1'000'000));
    EXPECT_GT(of(100'000, 2'000'000), of(100'000, 1'000'000));
  }
}

/// Measured: docs/performance/cuda.md, plus_times and or_and of a uniform graph of 2^20 nodes.
TEST(MxvPlan, PredictionsAreWithinAFactorOfThreeOfMeasurements) {
  Problem p = sized(1U << 20U, 33'554'432);
  EXPECT_GT(predicted_us(p), 235.0 / 3);
  EXPECT_LT(predicted_us(p), 235.0 * 3);
  p.bits_in = p.bits_out = true;
  p.x_bytes = p.out_bytes = 1U << 17U;
  EXPECT_GT(predicted_us(p), 69.6 / 3);
  EXPECT_LT(predicted_us(p), 69.6 * 3);
}

TEST(MxvPlan, ThresholdsAreThoseOfTheTuning) {
  CudaMxvTuning tuning;
  tuning.longest_short_row = 5'000;
  tuning.mean_of_values = 10;
  EXPECT_EQ(plan(skewed(), tuning).kernel, Kernel::short_rows);
}

TEST(MxvPlan, EveryKernelHasAProblem) {
  std::set<Kernel> reached;
  for (unsigned flags = 0; flags < 8; ++flags) {
    Problem p = skewed();
    p.tiles = (flags & 1U) != 0;
    p.transposed = (flags & 2U) != 0;
    if ((flags & 4U) != 0) p.longest_row = 20;
    reached.insert(plan(p).kernel);
  }
  EXPECT_EQ(reached.size(), kernels().size());
}

TEST(MxvExplain, NamesTheKernelOfTheHostByWhatIsReduced) {
  const CsrPattern a = test::random_pattern(50, 70, 0.1, 1);
  const BitVector bits(70);
  const Buffer<float> values(70, 1.0F);
  BitVector signs(50);
  Buffer<float> sums(50, 0.0F);
  Buffer<float> pushed(70, 0.0F);
  EXPECT_EQ(mxv_explain(signs, or_and, a, bits).kernel, host_kernel(Device{}, "mxv_any"));
  EXPECT_EQ(mxv_explain(sums, plus_times, a, bits).kernel, host_kernel(Device{}, "mxv_count"));
  EXPECT_EQ(mxv_explain(sums, plus_pair, a, values).kernel, host_kernel(Device{}, "mxv_count"));
  EXPECT_EQ(mxv_explain(sums, min_plus, a, values).kernel, host_kernel(Device{}, "mxv_reduce"));
  EXPECT_EQ(vxm_explain(pushed, plus_times, sums, a).kernel, host_kernel(Device{}, "vxm_push"));
  EXPECT_EQ(mxv_explain(sums, min_plus, a, values).bytes, static_cast<double>(a.bytes() + 4 * a.nvals() + 4 * 50));
}

}  // namespace
}  // namespace bitgraph::mxv_cuda
