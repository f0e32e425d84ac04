// SPDX-License-Identifier: Apache-2.0
// Which kernel a product on a CUDA device gets: no device is needed to choose.
#include "ops/gemm/cuda/plan.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace bitgraph::gemm_cuda {
namespace {

/// Bits by bits, on a device of 132 multiprocessors.
Problem bits_of(std::size_t rows, std::size_t columns, std::size_t outputs) {
  return {.rows = rows,
          .columns = columns,
          .words = (columns + 63) / 64,
          .outputs = outputs,
          .bits_out = true,
          .multiprocessors = 132};
}

Problem floats_of(std::size_t rows, std::size_t columns, std::size_t outputs) {
  Problem p = bits_of(rows, columns, outputs);
  p.factors = Factors::floats;
  p.bits_out = false;
  return p;
}

std::string described(const Problem& problem) { return describe(plan(problem)); }

TEST(GemmPlan, RowsOfUpTo1024BitsStayInRegisters) {
  EXPECT_EQ(described(bits_of(2'708, 64, 64)), "gemm_short_rows, 1 steps, signs");
  EXPECT_EQ(described(bits_of(2'708, 257, 64)), "gemm_short_rows, 2 steps, signs");
  EXPECT_EQ(described(bits_of(2'708, 1'024, 128)), "gemm_short_rows, 4 steps, signs");
  EXPECT_EQ(described(bits_of(2'708, 1'024, 129)), "gemm_short_rows, 4 steps, signs, many outputs");
  EXPECT_EQ(described(bits_of(89'250, 1'025, 256)), "gemm_bits");
}

TEST(GemmPlan, ScalesOfRowsAreMultipliedIn) {
  Problem p = bits_of(89'250, 512, 256);
  p.row_scaled = true;
  EXPECT_EQ(described(p), "gemm_short_rows, 2 steps, scaled");
  p.outputs = 257;
  EXPECT_EQ(described(p), "gemm_short_rows, 2 steps, scaled, many outputs");
}

TEST(GemmPlan, ShortRowsOfFloatsAreWrittenSideBySide) {
  Problem p = bits_of(2'708, 64, 41);
  p.bits_out = false;
  EXPECT_EQ(described(p), "gemm_short_rows, 1 steps, scaled");
  p.rows_in_sequence = true;
  EXPECT_EQ(described(p), "gemm_short_rows, 1 steps, rows side by side");
  for (const std::size_t outputs : {16U, 40U, 64U, 65U}) {
    p.outputs = outputs;
    EXPECT_EQ(described(p), "gemm_short_rows, 1 steps, scaled") << outputs;
  }
}

TEST(GemmPlan, FewLongRowsAreSharedByTheWarpsOfABlock) {
  EXPECT_EQ(described(bits_of(64 * 132, 1'433, 64)), "gemm_few_rows");
  EXPECT_EQ(described(bits_of(64 * 132 + 1, 1'433, 64)), "gemm_bits");
  EXPECT_EQ(described(bits_of(64 * 132, 1'433, 65)), "gemm_bits") << "two words of outputs";
  Problem masked = bits_of(2'708, 64, 64);
  masked.masked = true;
  EXPECT_EQ(described(masked), "gemm_masked_bits");
}

TEST(GemmPlan, SignsOfFloatsAreMadeOnTheWayWhereRowsAreShort) {
  Problem p = bits_of(89'250, 500, 256);
  p.factors = Factors::signs_of_floats;
  p.row_scaled = true;
  EXPECT_EQ(described(p), "gemm_binarized_rows, 2 steps, signs");
  p.has_bias = true;
  EXPECT_EQ(described(p), "gemm_binarized_rows, 2 steps, scaled");
  p.outputs = 257;
  EXPECT_EQ(described(p), "gemm_short_rows, 2 steps, scaled, many outputs") << "behind binarize";
  p.outputs = 7;
  p.words = 17;
  EXPECT_EQ(described(p), "gemm_bits");
}

TEST(GemmPlan, FloatsBySignsHaveATileOfEightOutputsSideBySide) {
  Problem p = floats_of(1'000, 100, 8);
  p.factors = Factors::floats_and_bits;
  EXPECT_EQ(described(p), "gemm_float_rows, 1 tiles");
  p.outputs = 9;
  EXPECT_EQ(described(p), "gemm_float_rows, 3 tiles");
  p.outputs = 48;
  EXPECT_EQ(described(p), "gemm_float_rows, 6 tiles");
  p.outputs = 200;
  EXPECT_EQ(described(p), "gemm_float_rows, 8 tiles");
}

TEST(GemmPlan, LargeFloatProductsAreTheLibrarys) {
  EXPECT_EQ(described(floats_of(64, 256, 256)), "gemm_cublas") << "2^22 multiplications";
  EXPECT_EQ(described(floats_of(63, 256, 256)), "gemm_float_tiles");
  EXPECT_EQ(described(floats_of(7, 513, 7)), "gemm_cublas") << "few sums, and long ones";
  Problem without = floats_of(64, 2'708, 7);
  without.has_blas = false;
  EXPECT_EQ(described(without), "gemm_float_tiles");
}

double predicted_us(const Problem& problem) { return predict(problem, plan(problem)).seconds * 1e6; }

TEST(GemmPlan, PredictionsGrowWithEveryExtent) {
  for (const Factors factors : {Factors::bits, Factors::signs_of_floats, Factors::floats_and_bits, Factors::floats}) {
    const auto problem = [&](std::size_t rows, std::size_t columns, std::size_t outputs) {
      Problem p = bits_of(rows, columns, outputs);
      p.factors = factors;
      p.bits_out = factors == Factors::bits;
      return p;
    };
    const double once = predicted_us(problem(100'000, 512, 256));
    EXPECT_GT(once, 0);
    EXPECT_GT(predicted_us(problem(200'000, 512, 256)), once);
    EXPECT_GT(predicted_us(problem(100'000, 1'024, 256)), once);
    EXPECT_GT(predicted_us(problem(100'000, 512, 512)), once);
  }
}

/// Measured: docs/performance/cuda.md, "89,250 x 512 by 256" and the products of floats.
TEST(GemmPlan, PredictionsAreWithinAFactorOfFourOfMeasurements) {
  const auto expect_near = [](const Problem& p, double measured_us) {
    EXPECT_GT(predicted_us(p), measured_us / 4);
    EXPECT_LT(predicted_us(p), measured_us * 4);
  };
  Problem p = bits_of(89'250, 512, 256);
  expect_near(p, 9.7);
  p.bits_out = false;
  expect_near(p, 27.9);
  p.factors = Factors::signs_of_floats;
  expect_near(p, 79.4);
  p.factors = Factors::floats_and_bits;
  expect_near(p, 290);
  p.factors = Factors::floats;
  expect_near(p, 536);
}

TEST(GemmPlan, PredictionsCountTheBytesOfBinarizeToo) {
  Problem p = bits_of(1'000, 2'048, 64);
  const double bits = predict(p, plan(p)).bytes;
  EXPECT_EQ(bits, 1'000 * (256 + 8) + 64 * 256);
  p.float_weights = true;
  EXPECT_EQ(predict(p, plan(p)).bytes, bits + 64 * (8'192 + 256));
  p.factors = Factors::signs_of_floats;
  EXPECT_EQ(predict(p, plan(p)).bytes, bits + 1'064 * (8'192 + 256));
}

TEST(GemmPlan, ProductsOfBfloatsAreBoundByBytesOrTensorCores) {
  EXPECT_GT(predict_bfloats(2'000, 512, 256, 2).seconds, predict_bfloats(1'000, 512, 256, 2).seconds);
  // arxiv size, 128 by 128: 28 us measured by cuBLAS (docs/notebook/rates.md).
  const double us = predict_bfloats(169'343, 128, 128, 2).seconds * 1e6;
  EXPECT_GT(us, 28.0 / 3);
  EXPECT_LT(us, 28.0 * 3);
}

TEST(GemmPlan, ThresholdsAreThoseOfTheTuning) {
  CudaGemmTuning tuning;
  const Problem p = bits_of(9'000, 1'433, 64);
  EXPECT_EQ(plan(p, tuning).kernel, Kernel::many_rows);
  tuning.few_rows_a_multiprocessor = 100;
  EXPECT_EQ(plan(p, tuning).kernel, Kernel::few_rows);
}

TEST(GemmPlan, EveryProblemHasAKernelAndEveryKernelAProblem) {
  std::set<Kernel> reached;
  for (const Factors factors : {Factors::bits, Factors::signs_of_floats, Factors::floats_and_bits, Factors::floats}) {
    for (const std::size_t rows : {0U, 1U, 100U, 10'000U, 1'000'000U}) {
      for (const std::size_t columns : {0U, 1U, 600U, 1'024U, 2'000U}) {
        for (const std::size_t outputs : {0U, 1U, 20U, 64U, 300U}) {
          for (unsigned flags = 0; flags < 32; ++flags) {
            Problem p = bits_of(rows, columns, outputs);
            p.factors = factors;
            p.bits_out = (flags & 1U) != 0;
            p.masked = factors == Factors::bits && (flags & 2U) != 0;
            p.row_scaled = (flags & 4U) != 0;
            p.rows_in_sequence = (flags & 8U) != 0;
            p.has_blas = (flags & 16U) != 0;
            reached.insert(plan(p).kernel);
          }
        }
      }
    }
  }
  EXPECT_EQ(reached.size(), kernels().size());
}

}  // namespace
}  // namespace bitgraph::gemm_cuda
