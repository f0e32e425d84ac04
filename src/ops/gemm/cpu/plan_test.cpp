// SPDX-License-Identifier: Apache-2.0
// Which kernel a product on the host gets, and what explain says of it.
#include "ops/gemm/cpu/plan.hpp"

#include "support/random_matrices.hpp"

#include <bitgraph/ops/gemm.hpp>

#include <gtest/gtest.h>

#include <string>

namespace bitgraph::gemm_cpu {
namespace {

Problem bits_of(std::size_t rows, std::size_t words, std::size_t outputs) {
  return {.rows = rows, .words = words, .outputs = outputs, .bits_out = true, .isa = Isa::amx};
}

std::string named(const Problem& problem) { return name_of(plan(problem)); }

TEST(GemmCpuPlan, AMatrixUnitTakesBitsWhereThereAreManyRows) {
  EXPECT_EQ(named(bits_of(256, 16, 32)), "gemm_bits_by_tiles");
  EXPECT_EQ(named(bits_of(255, 16, 32)), "gemm_bits");
  EXPECT_EQ(named(bits_of(256, 17, 32)), "gemm_bits");
  EXPECT_EQ(named(bits_of(256, 0, 32)), "gemm_bits");
  EXPECT_EQ(named(bits_of(256, 16, 31)), "gemm_bits");
  Problem p = bits_of(256, 16, 32);
  p.masked = true;
  EXPECT_EQ(named(p), "gemm_bits");
  p = bits_of(256, 16, 32);
  p.bits_out = false;
  EXPECT_EQ(named(p), "gemm_bits");
  p = bits_of(256, 16, 32);
  p.isa = Isa::avx512_popcnt;
  EXPECT_EQ(named(p), "gemm_bits");
}

TEST(GemmCpuPlan, AMatrixUnitTakesWholeNumbersWhereAllWeightsFit) {
  Problem p = bits_of(256, 8, 256);
  p.bits_out = false;
  p.factors = Factors::floats_and_bits;
  EXPECT_EQ(named(p), "gemm_float_rows") << "the first row holds other numbers";
  p.begins_with_whole = true;
  EXPECT_EQ(named(p), "gemm_numbers_by_tiles");
  p.outputs = 257;
  EXPECT_EQ(named(p), "gemm_float_rows") << "17 groups of outputs by 8 words are 136 tiles";
  p.words = 7;
  EXPECT_EQ(named(p), "gemm_numbers_by_tiles");
  p.words = 9;
  p.outputs = 8;
  EXPECT_EQ(named(p), "gemm_float_rows");
  p.factors = Factors::floats;
  EXPECT_EQ(named(p), "gemm_openblas");
}

TEST(GemmCpuPlan, AMatrixUnitTakesLevelsOfBytes) {
  const Problem levels{
      .factors = Factors::levels, .rows = 32, .outputs = 16, .columns = 512, .x_bits = 8, .w_bits = 8, .isa = Isa::amx};
  EXPECT_EQ(named(levels), "level_gemm_by_tiles");
  const auto by_vectors = [&](auto&& change) {
    Problem p = levels;
    change(p);
    return named(p) == "level_gemm";
  };
  EXPECT_TRUE(by_vectors([](Problem& p) { p.rows = 31, p.columns = 1024; }));
  EXPECT_TRUE(by_vectors([](Problem& p) { p.outputs = 15; }));
  EXPECT_TRUE(by_vectors([](Problem& p) { p.columns = 511; }));
  EXPECT_TRUE(by_vectors([](Problem& p) { p.columns = 32769; })) << "sums pass 31 bits";
  EXPECT_TRUE(by_vectors([](Problem& p) { p.x_bits = 9; }));
  EXPECT_TRUE(by_vectors([](Problem& p) { p.w_bits = 9; }));
  EXPECT_TRUE(by_vectors([](Problem& p) { p.isa = Isa::avx512_popcnt; }));
}

TEST(GemmCpuPlan, ExplainNamesTheKernelAndItsInstructionSet) {
  const auto x = test::random_bits(300, 500, 1);
  const auto w = test::random_bits(70, 500, 2);
  BitMatrix<PlusMinusOne> signs(300, 70);
  DenseMatrix<float> sums(300, 70);
  DenseMatrix<float> counts(300, 500);
  for (const Isa isa : available_isas()) {
    const ScopedIsa scope(isa);
    const std::string set = " (" + std::string(to_string(isa)) + ")";
    const bool tiles = isa == Isa::amx;
    EXPECT_EQ(gemm_explain(signs, x, w).kernel, (tiles ? "gemm_bits_by_tiles" : "gemm_bits") + set);
    EXPECT_EQ(gemm_explain(sums, x, w).kernel, "gemm_bits" + set);
    EXPECT_EQ(binary_weight_gemm_explain(sums, counts, w).kernel,
              (tiles ? "gemm_numbers_by_tiles" : "gemm_float_rows") + set);
  }
  EXPECT_EQ(gemm_explain(signs, x, w).bytes, 8.0 * (300 * (8 + 2) + 70 * 8));
  EXPECT_EQ(gemm_explain(sums, counts, DenseMatrix<float>(70, 500)).kernel, float_gemm_kernels(Device()));
}

}  // namespace
}  // namespace bitgraph::gemm_cpu
