// SPDX-License-Identifier: Apache-2.0
// Which kernel a product of two matrices gets: no device is needed to choose.
#include "ops/mxm/plan.hpp"

#include "ops/explain.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/ops/mxm.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace bitgraph::mxm_plan {
namespace {

std::string described(const Problem& problem) { return describe(plan(problem)); }

TEST(MxmPlan, ProductsAreGatheredOrTakenWithinAMask) {
  Problem p{.operation = Operation::product};
  EXPECT_EQ(described(p), "mxm_gather");
  p.mask_use = MaskUse::outside;
  EXPECT_EQ(described(p), "mxm_gather");
  p.mask_use = MaskUse::inside;
  EXPECT_EQ(described(p), "mxm_within");
  p.backend = BackendKind::cuda;
  EXPECT_EQ(described(p), "mxm_within");
  p.backend = BackendKind::reference;
  EXPECT_EQ(described(p), "mxm_gather");
}

TEST(MxmPlan, TilesWithFewBitsAreUnpackedWithinAMask) {
  Problem p{.operation = Operation::product, .tiles = true, .loose = true};
  EXPECT_EQ(described(p), "mxm_tiles");
  p.mask_use = MaskUse::inside;
  EXPECT_EQ(described(p), "mxm_within, of unpacked tiles");
  p.loose = false;
  EXPECT_EQ(described(p), "mxm_tiles");
  p.operation = Operation::masked_sum;
  EXPECT_EQ(described(p), "mxm_masked_sum_of_tiles");
  p.loose = true;
  EXPECT_EQ(described(p), "mxm_masked_sum, of unpacked tiles");
  p.backend = BackendKind::reference;
  EXPECT_EQ(described(p), "mxm_masked_sum_of_tiles") << "the reference takes every format as it is";
}

TEST(MxmPlan, CountsOfTilesAreThoseOfTheirEntries) {
  Problem p{.operation = Operation::counts, .tiles = true};
  EXPECT_EQ(described(p), "mxm_gather, of unpacked tiles");
  p.mask_use = MaskUse::inside;
  EXPECT_EQ(described(p), "mxm_within, of unpacked tiles");
  p.backend = BackendKind::reference;
  EXPECT_EQ(described(p), "mxm_gather");
}

TEST(MxmPlan, LooseMatricesHaveManyTilesWithFewBits) {
  constexpr EdgeOffset many = EdgeOffset{1} << 16;
  EXPECT_TRUE(is_loose(many, 4 * many - 1, 8));
  EXPECT_FALSE(is_loose(many, 4 * many, 8));
  EXPECT_FALSE(is_loose(many - 1, many, 8));
  EXPECT_TRUE(is_loose(many, 32 * many - 1, 64));
}

TEST(MxmPlan, SkewedRowsAreComparedInSmallBlocks) {
  EXPECT_TRUE(compares_in_small_blocks((EdgeOffset{1} << 18) - 1, 100'000, 33));
  EXPECT_FALSE(compares_in_small_blocks((EdgeOffset{1} << 18) - 1, 100'000, 32));
  EXPECT_FALSE(compares_in_small_blocks(EdgeOffset{1} << 18, 100'000, 33));
  EXPECT_TRUE(compares_in_small_blocks(EdgeOffset{1} << 18, 100'000, 49)) << "16 times the mean";
  EXPECT_FALSE(compares_in_small_blocks(EdgeOffset{1} << 20, 100'000, 10'000));
  EXPECT_FALSE(compares_in_small_blocks(0, 0, 0));
}

/// Pattern CSR of n rows, all operands alike.
Sizes sized(std::size_t n, std::size_t entries) {
  return {.bytes = 3 * (8 * n + 4 * entries),
          .rows = n,
          .a_items = entries,
          .b_rows = n,
          .b_items = entries,
          .mask_items = entries};
}

TEST(MxmPlan, PredictionsOfEveryKernelGrowWithTheEntries) {
  for (const KernelEntry& entry : kernels()) {
    const Plan chosen{.kernel = entry.kernel};
    const Prediction few = predict(sized(100'000, 1'000'000), chosen);
    const Prediction many = predict(sized(100'000, 2'000'000), chosen);
    EXPECT_GT(few.seconds, 0) << entry.name;
    EXPECT_GT(few.bytes, 0) << entry.name;
    EXPECT_GT(many.seconds, few.seconds) << entry.name;
    EXPECT_GT(many.bytes, few.bytes) << entry.name;
  }
}

/// Measured: docs/performance/cuda.md, triangles of graphs whose edges are taken once. Skewed rows are longer than the
/// mean says.
TEST(MxmPlan, PredictionsOfTrianglesAreWithinAnOrderOfMeasurements) {
  const auto us = [](std::size_t n, std::size_t edges) {
    return predict(sized(n, edges), {.kernel = Kernel::masked_sum}).seconds * 1e6;
  };
  const double uniform = us(1U << 20U, 16'800'000);
  EXPECT_GT(uniform, 790.0 / 3);
  EXPECT_LT(uniform, 790.0 * 3);
  const double rmat = us(1U << 20U, 15'700'000);
  EXPECT_GT(rmat, 1'390.0 / 10);
  EXPECT_LT(rmat, 1'390.0 * 10);
}

TEST(MxmPlan, EveryKernelHasAProblem) {
  std::set<Kernel> reached;
  for (const Operation operation : {Operation::sum, Operation::masked_sum, Operation::product, Operation::counts}) {
    for (unsigned flags = 0; flags < 4; ++flags) {
      for (const MaskUse use : {MaskUse::none, MaskUse::inside, MaskUse::outside}) {
        reached.insert(
            plan({.operation = operation, .tiles = (flags & 1U) != 0, .loose = (flags & 2U) != 0, .mask_use = use})
                .kernel);
      }
    }
  }
  EXPECT_EQ(reached.size(), kernels().size());
}

TEST(MxmExplain, NamesTheKernelAndTheWayWithinAMask) {
  const CsrPattern a = test::random_pattern(200, 200, 0.2, 1);
  const CsrPattern few = test::random_pattern(200, 200, 0.001, 2);
  EXPECT_EQ(mxm_explain(or_and, a, a).kernel, host_kernel(Device{}, "mxm_gather"));
  EXPECT_EQ(mxm_explain(plus_pair, a, a, few).kernel, host_kernel(Device{}, "mxm_within, compared"));
  EXPECT_EQ(mxm_explain(plus_pair, few, few, a).kernel, host_kernel(Device{}, "mxm_within, gathered"));
  EXPECT_EQ(mxm_sum_explain(a, a).kernel, host_kernel(Device{}, "mxm_whole_sum"));
  EXPECT_EQ(mxm_sum_explain(a, a, a).kernel, host_kernel(Device{}, "mxm_masked_sum"));
  const BitTileMatrix tiles = pack(a, {.tile_dim = 8});
  EXPECT_EQ(mxm_explain(or_and, tiles, tiles).kernel, host_kernel(Device{}, "mxm_tiles"));
  EXPECT_EQ(mxm_explain(or_and, tiles, tiles).bytes, static_cast<double>(2 * tiles.bytes()));
}

}  // namespace
}  // namespace bitgraph::mxm_plan
