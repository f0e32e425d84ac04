// SPDX-License-Identifier: Apache-2.0
#include "nn/program/passes/pass_cases.hpp"

#include <gtest/gtest.h>

#include <array>

namespace bitgraph::nn {
namespace {

constexpr std::array all_full{Precision::full, Precision::full};

TEST(SharePass, QuantizesOnceForTwoReaders) {
  Program program = test::two_layers(Aggregation::mean, true);
  apply_precision(program, all_full);
  remove_dead(program);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBF layer 0 (%0) : 64 x float32\n"
            "%2 = BSpMM.FBF layer 0 (%1) : 64 x float32\n"
            "%3 = BMM.BBF layer 0 (%0) : 64 x float32\n"
            "%4 = ADD.FFF layer 0 (%2, %3) : 64 x float32\n"
            "%5 = BIN layer 1 (%4) : 64 x sign*row\n"
            "%6 = BMM.BBF layer 1 (%5) : 7 x float32\n"
            "%7 = BSpMM.FBF layer 1 (%6) : 7 x float32\n"
            "%8 = BIN layer 1 (%4) : 64 x sign*row\n"
            "%9 = BMM.BBF layer 1 (%8) : 7 x float32\n"
            "%10 = ADD.FFF layer 1 (%7, %9) : 7 x float32\n"
            "result %10\n");
  share(program);
  remove_dead(program);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBF layer 0 (%0) : 64 x float32\n"
            "%2 = BSpMM.FBF layer 0 (%1) : 64 x float32\n"
            "%3 = BMM.BBF layer 0 (%0) : 64 x float32\n"
            "%4 = ADD.FFF layer 0 (%2, %3) : 64 x float32\n"
            "%5 = BIN layer 1 (%4) : 64 x sign*row\n"
            "%6 = BMM.BBF layer 1 (%5) : 7 x float32\n"
            "%7 = BSpMM.FBF layer 1 (%6) : 7 x float32\n"
            "%8 = BMM.BBF layer 1 (%5) : 7 x float32\n"
            "%9 = ADD.FFF layer 1 (%7, %8) : 7 x float32\n"
            "result %9\n");
}

TEST(FoldActivationsPass, RectifiesInTheSumBeforeIt) {
  Program program = test::two_layers(Aggregation::mean, true);
  EXPECT_NE(to_text(program).find("RELU"), std::string::npos);
  fold_activations(program);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x float32\n"
            "%1 = MM layer 0 (%0) : 64 x float32\n"
            "%2 = BSpMM.FBF layer 0 (%1) : 64 x float32\n"
            "%3 = MM layer 0 (%0) : 64 x float32\n"
            "%4 = ADD.FFF layer 0 (%2, %3) : 64 x float32\n"
            "%5 = MM layer 1 (%4) : 7 x float32\n"
            "%6 = BSpMM.FBF layer 1 (%5) : 7 x float32\n"
            "%7 = MM layer 1 (%4) : 7 x float32\n"
            "%8 = ADD.FFF layer 1 (%6, %7) : 7 x float32\n"
            "result %8\n");
  EXPECT_EQ(program.operators[3].activation, Activation::relu);
  EXPECT_EQ(program.operators[7].activation, Activation::none) << "logits are not rectified";
}

TEST(FoldActivationsPass, TakesATanhAndNothingBehindIt) {
  ProgramBuilder build(8);
  const ValueId x = build.features();
  Program program = build.finish(build.relu(build.tanh(build.add(build.product(x, WeightOf::neighbor, 8), x))));
  fold_activations(program);
  EXPECT_EQ(to_text(program),
            "%0 = features : 8 x float32\n"
            "%1 = MM layer 0 (%0) : 8 x float32\n"
            "%2 = ADD.FFF + TANH layer 0 (%1, %0) : 8 x float32\n"
            "%3 = RELU layer 0 (%2) : 8 x float32\n"
            "result %3\n");
  EXPECT_EQ(program.operators[1].activation, Activation::tanh);
}

TEST(FoldActivationsPass, LeavesASumThatSomebodyElseReads) {
  ProgramBuilder build(8);
  const ValueId x = build.features();
  const ValueId sum = build.add(build.product(x, WeightOf::neighbor, 8), x);
  Program program = build.finish(build.add(build.relu(sum), sum));
  const std::string unchanged = to_text(program);
  fold_activations(program);
  EXPECT_EQ(to_text(program), unchanged);
}

TEST(RemoveDeadPass, DropsWhatNobodyReads) {
  ProgramBuilder build(8);
  const ValueId x = build.features();
  static_cast<void>(build.relu(build.product(x, WeightOf::root, 5)));
  Program program = build.finish(build.product(x, WeightOf::neighbor, 3));
  remove_dead(program);
  EXPECT_EQ(to_text(program),
            "%0 = features : 8 x float32\n"
            "%1 = MM layer 0 (%0) : 3 x float32\n"
            "result %1\n");
}

}  // namespace
}  // namespace bitgraph::nn
