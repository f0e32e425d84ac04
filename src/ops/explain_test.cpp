// SPDX-License-Identifier: Apache-2.0
// What the explain functions say of calls: the kernel on the host, and on a CUDA device a predicted time as well.
#include "core/devices/isa.hpp"
#include "ops/prediction.hpp"
#include "support/cuda_device.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/ops/fused_vote.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/mxm.hpp>
#include <bitgraph/ops/mxv.hpp>
#include <bitgraph/ops/spmm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace bitgraph {
namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

std::string on_host(const std::string& name, Isa best = Isa::avx512_popcnt) {
  return name + " (" + std::string(to_string(std::min(active_isa(), best))) + ")";
}

TEST(SpmmExplain, NamesTheKernelOfTheHostByTheOperands) {
  const CsrPattern a = test::random_pattern(50, 50, 0.1, 1);
  const BitTileMatrix tiles = pack(a, {.tile_dim = 8});
  const Bits x = test::random_bits(50, 70, 2);
  const Floats numbers = test::random_dense(50, 70, 3);
  const std::vector<float> scale(50, 2);
  Bits signs(50, 70);
  Floats sums(50, 70);
  EXPECT_EQ(spmm_explain(signs, a, x).kernel, on_host("spmm_vote", Isa::avx512));
  EXPECT_EQ(spmm_explain(sums, tiles, x).kernel, on_host("spmm_vote", Isa::avx512));
  EXPECT_EQ(spmm_explain(sums, a, x, {.col_scale = scale}).kernel, on_host("spmm_weigh"));
  EXPECT_EQ(spmm_explain(sums, a, numbers).kernel, on_host("spmm_sum"));
  EXPECT_EQ(spmm_explain(signs, tiles, x, {.strategy = SpmmStrategy::twice_ones}).kernel, on_host("spmm_tile_words"));
  EXPECT_EQ(spmm_explain(signs, to_sell(a), x).kernel, on_host("spmm_vote_sell", Isa::avx512));
  EXPECT_EQ(spmm_explain(signs, a, x).seconds, 0) << "nothing is predicted of the host";
}

void expect_predicted(const KernelChoice& choice, const std::string& name) {
  EXPECT_EQ(choice.kernel.substr(0, name.size()), name);
  EXPECT_GT(choice.bytes, 0) << choice.kernel;
  EXPECT_GT(choice.seconds, 1e-6) << choice.kernel;
  EXPECT_LT(choice.seconds, 1e-3) << choice.kernel;
}

TEST(ExplainOnCuda, EveryOperatorOfAListPredictsItsTime) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern a = test::random_pattern(300, 300, 0.02, 1).to(device);
  const BitTileMatrix tiles = pack(test::random_pattern(300, 300, 0.02, 1), {.tile_dim = 8}, device);
  const Bits x = test::random_bits(300, 128, 2).to(device);
  const Bits w = test::random_bits(7, 128, 3).to(device);
  const Floats numbers = test::random_dense(300, 128, 4).to(device);
  const Floats float_weights = test::random_dense(7, 128, 5).to(device);
  Bits signs(300, 128, device);
  Floats sums(300, 128, device);
  Floats products(300, 7, device);
  expect_predicted(spmm_explain(signs, a, x), "spmm_vote_short");
  expect_predicted(spmm_explain(sums, a, numbers), "spmm_sum_short");
  expect_predicted(spmm_explain(signs, tiles, x, {.strategy = SpmmStrategy::carry_save}), "spmm_vote_tiles");
  expect_predicted(spmm_explain(signs, tiles, x, {.strategy = SpmmStrategy::twice_ones}), "spmm_tile_words");
  expect_predicted(gemm_explain(products, x, w), "gemm_short_rows");
  expect_predicted(gemm_explain(products, numbers, w), "gemm_binarized_rows");
  expect_predicted(gemm_explain(products, x, float_weights), "gemm_short_rows");
  expect_predicted(gemm_explain(products, numbers, float_weights), "gemm_float_tiles");
  expect_predicted(binary_weight_gemm_explain(products, numbers, w), "gemm_float_rows");

  const BitVector some = BitVector(300).to(device);
  const Buffer<float> values(300, 1.0F, device);
  BitVector any(300, device);
  Buffer<float> totals(300, 0.0F, device);
  expect_predicted(mxv_explain(any, or_and, a, some), "mxv_short_rows");
  expect_predicted(mxv_explain(totals, min_plus, tiles, values), "mxv_tiles");
  expect_predicted(vxm_explain(totals, min_plus, values, a), "vxm_rows");

  expect_predicted(mxm_explain(or_and, a, a), "mxm_gather");
  expect_predicted(mxm_explain(plus_pair, a, a, a), "mxm_within");
  expect_predicted(mxm_explain(or_and, tiles, tiles), "mxm_tiles");
  expect_predicted(mxm_sum_explain(a, a), "mxm_whole_sum");
  expect_predicted(mxm_sum_explain(a, a, a), "mxm_masked_sum");

  VoteUse use{.votes = &signs};
  expect_predicted(vote_explain(use, a, x), "fused_vote");
  expect_predicted(add_scores_explain(a, RowScores(300, 7, 128, device)), "fused_score_sum");
  expect_predicted(multiply_counts_explain(a, x, w), "fused_counts");
}

/// A lower bound of a time that was measured (docs/notebook), and not far below.
void expect_near_roof(const Prediction& predicted, double measured_us) {
  EXPECT_LT(predicted.seconds * 1e6, 1.1 * measured_us);
  EXPECT_GT(predicted.seconds * 1e6, 0.4 * measured_us);
}

TEST(Prediction, OfSumsOfLevels) {
  const auto sums = [](double nodes, double entries, double bits) {
    const double row = 128 * bits / 8;
    return predict_level_sums(nodes, entries, row, nodes * row);
  };
  expect_near_roof(sums(89'250, 989'006, 4), 21.9);
  expect_near_roof(sums(89'250, 989'006, 8), 30.3);
  expect_near_roof(sums(169'343, 2'501'829, 4), 43.9);
  expect_near_roof(sums(232'965, 114'848'857, 4), 1151);
  expect_near_roof(sums(232'965, 114'848'857, 8), 2117);
}

TEST(Prediction, OfProductsOfLevels) {
  const auto product = [](double bits) {
    return predict_level_product(89'250, 512, 256, 89'250 * 512 * bits / 8, 512 * 256);
  };
  expect_near_roof(product(4), 36.3);
  expect_near_roof(product(8), 47.0);
}

TEST(Prediction, OfProductsOfBitPlanes) {
  const auto product = [](double columns, double bits) {
    return predict_plane_product(16'384, columns, bits, 16'384.0 * 16'384 / 8, 16'384 * columns * bits / 8, true);
  };
  expect_near_roof(product(256, 1), 25.3);
  expect_near_roof(product(256, 4), 47.8);
  expect_near_roof(product(256, 8), 97.6);
  expect_near_roof(product(64, 4), 14.5);
}

}  // namespace
}  // namespace bitgraph
