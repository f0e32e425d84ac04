// SPDX-License-Identifier: Apache-2.0
#include "nn/program/passes/pass_cases.hpp"

#include <gtest/gtest.h>

namespace bitgraph::nn {
namespace {

constexpr OperatorKind copy = OperatorKind::concat;  // of one value

TEST(PutBehindPass, AllReadersOfAValueReadTheNewOperator) {
  Program program = test::two_layers(Aggregation::mean, true);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x float32\n"
            "%1 = MM layer 0 (%0) : 64 x float32\n"
            "%2 = BSpMM.FBF layer 0 (%1) : 64 x float32\n"
            "%3 = MM layer 0 (%0) : 64 x float32\n"
            "%4 = ADD.FFF layer 0 (%2, %3) : 64 x float32\n"
            "%5 = RELU layer 0 (%4) : 64 x float32\n"
            "%6 = MM layer 1 (%5) : 7 x float32\n"
            "%7 = BSpMM.FBF layer 1 (%6) : 7 x float32\n"
            "%8 = MM layer 1 (%5) : 7 x float32\n"
            "%9 = ADD.FFF layer 1 (%7, %8) : 7 x float32\n"
            "result %9\n");
  EXPECT_EQ(put_behind(program, 5, {.kind = copy}), 10U);
  EXPECT_EQ(put_behind(program, program.features, {.kind = copy}), 11U);
  EXPECT_EQ(put_behind(program, program.result, {.kind = copy}), 12U);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x float32\n"
            "%11 = CONCAT layer 0 (%0) : 100 x float32\n"
            "%1 = MM layer 0 (%11) : 64 x float32\n"
            "%2 = BSpMM.FBF layer 0 (%1) : 64 x float32\n"
            "%3 = MM layer 0 (%11) : 64 x float32\n"
            "%4 = ADD.FFF layer 0 (%2, %3) : 64 x float32\n"
            "%5 = RELU layer 0 (%4) : 64 x float32\n"
            "%10 = CONCAT layer 0 (%5) : 64 x float32\n"
            "%6 = MM layer 1 (%10) : 7 x float32\n"
            "%7 = BSpMM.FBF layer 1 (%6) : 7 x float32\n"
            "%8 = MM layer 1 (%10) : 7 x float32\n"
            "%9 = ADD.FFF layer 1 (%7, %8) : 7 x float32\n"
            "%12 = CONCAT layer 1 (%9) : 7 x float32\n"
            "result %12\n");
  program.validate();
}

}  // namespace
}  // namespace bitgraph::nn
