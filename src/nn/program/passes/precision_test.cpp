// SPDX-License-Identifier: Apache-2.0
#include "nn/program/passes/pass_cases.hpp"

#include <gtest/gtest.h>

#include <array>

namespace bitgraph::nn {
namespace {

constexpr std::array all_real{Precision::real, Precision::real};
constexpr std::array all_full{Precision::full, Precision::full};
constexpr std::array votes_first{Precision::bin, Precision::full};

const char* const before =
    "%0 = features : 100 x float32\n"
    "%1 = MM layer 0 (%0) : 64 x float32\n"
    "%2 = BSpMM.FBF layer 0 (%1) : 64 x float32\n"
    "%3 = RELU layer 0 (%2) : 64 x float32\n"
    "%4 = MM layer 1 (%3) : 7 x float32\n"
    "%5 = BSpMM.FBF layer 1 (%4) : 7 x float32\n"
    "result %5\n";

const char* const after_votes =
    "%0 = features : 100 x sign*row\n"
    "%1 = BMM.BBF layer 0 (%0) : 64 x float32\n"
    "%2 = BIN layer 0 (%1) : 64 x sign\n"
    "%3 = BSpMM.BBF layer 0 (%2) : 64 x float32\n"
    "%4 = BIN layer 1 (%3) : 64 x sign\n"
    "%5 = BMM.BBF layer 1 (%4) : 7 x float32\n"
    "%6 = BSpMM.FBF layer 1 (%5) : 7 x float32\n"
    "result %6\n";

TEST(PrecisionPass, LeavesFloatsAsTheyAre) {
  Program program = test::two_layers(Aggregation::symmetric, false);
  EXPECT_EQ(to_text(program), before);
  apply_precision(program, all_real);
  EXPECT_EQ(to_text(program), before);
}

TEST(PrecisionPass, QuantizesTheInputOfAProductOfSigns) {
  Program program = test::two_layers(Aggregation::symmetric, false);
  apply_precision(program, all_full);
  remove_dead(program);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBF layer 0 (%0) : 64 x float32\n"
            "%2 = BSpMM.FBF layer 0 (%1) : 64 x float32\n"
            "%3 = BIN layer 1 (%2) : 64 x sign*row\n"
            "%4 = BMM.BBF layer 1 (%3) : 7 x float32\n"
            "%5 = BSpMM.FBF layer 1 (%4) : 7 x float32\n"
            "result %5\n");
}

TEST(PrecisionPass, LeavesOutTheScalesOfSignsWhereTheLayerHasNone) {
  Program program = test::two_layers(Aggregation::sum, false);
  const std::array plain_behind{Precision::full, Precision::full.with_plain_input()};
  apply_precision(program, plain_behind);
  remove_dead(program);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBF layer 0 (%0) : 64 x float32\n"
            "%2 = BSpMM.FBF layer 0 (%1) : 64 x float32\n"
            "%3 = BIN layer 1 (%2) : 64 x sign\n"
            "%4 = BMM.BBF layer 1 (%3) : 7 x float32\n"
            "%5 = BSpMM.FBF layer 1 (%4) : 7 x float32\n"
            "result %5\n");
}

TEST(PrecisionPass, LeavesOutTanhInFrontOfSigns) {
  ProgramBuilder build(100);
  build.begin_layer(0);
  const ValueId first = build.tanh(build.product(build.features(), WeightOf::neighbor, 64));
  build.begin_layer(1);
  Program program = build.finish(build.product(first, WeightOf::neighbor, 7));
  Program in_floats = program;
  apply_precision(in_floats, all_real);
  EXPECT_NE(to_text(in_floats).find("%2 = TANH layer 0 (%1) : 64 x float32"), std::string::npos);
  apply_precision(program, all_full);
  remove_dead(program);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBF layer 0 (%0) : 64 x float32\n"
            "%2 = BIN layer 1 (%1) : 64 x sign*row\n"
            "%3 = BMM.BBF layer 1 (%2) : 7 x float32\n"
            "result %3\n");
}

TEST(PrecisionPass, QuantizesWhatVotes) {
  Program program = test::two_layers(Aggregation::symmetric, false);
  apply_precision(program, votes_first);
  remove_dead(program);
  EXPECT_EQ(to_text(program), after_votes);
}

TEST(SignsPass, DropsScalesInFrontOfASign) {
  Program program = test::two_layers(Aggregation::symmetric, false);
  apply_precision(program, votes_first);
  make_signs_early(program);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBB layer 0 (%0) : 64 x sign\n"
            "%2 = BSpMM.BBB layer 0 (%1) : 64 x sign\n"
            "%3 = BMM.BBF layer 1 (%2) : 7 x float32\n"
            "%4 = BSpMM.FBF layer 1 (%3) : 7 x float32\n"
            "result %4\n");
}

TEST(SignsPass, MakesTheOrOfSignsOutOfTheSignOfAMaximum) {
  Program program = test::two_layers(Aggregation::mean, true);
  apply_precision(program, votes_first);
  make_signs_early(program);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBB layer 0 (%0) : 64 x sign\n"
            "%2 = BSpMM.BBB layer 0 (%1) : 64 x sign\n"
            "%3 = BMM.BBB layer 0 (%0) : 64 x sign\n"
            "%4 = ADD.BBB layer 0 (%2, %3) : 64 x sign\n"
            "%5 = BMM.BBF layer 1 (%4) : 7 x float32\n"
            "%6 = BSpMM.FBF layer 1 (%5) : 7 x float32\n"
            "%7 = BMM.BBF layer 1 (%4) : 7 x float32\n"
            "%8 = ADD.FFF layer 1 (%6, %7) : 7 x float32\n"
            "result %8\n");
}

TEST(SignsPass, PutsSignsSideBySide) {
  Program program = test::two_layers(Aggregation::sum, false, true);
  apply_precision(program, std::array{Precision::bin, Precision::bin, Precision::full});
  make_signs_early(program);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBB layer 0 (%0) : 64 x sign\n"
            "%2 = BSpMM.BBB layer 0 (%1) : 64 x sign\n"
            "%3 = BMM.BBB layer 1 (%2) : 64 x sign\n"
            "%4 = BSpMM.BBB layer 1 (%3) : 64 x sign\n"
            "%5 = CONCAT layer 2 (%2, %4) : 128 x sign\n"
            "%6 = BMM.BBF layer 2 (%5) : 7 x float32\n"
            "result %6\n");
}

TEST(SignsPass, MakesTheOrOfSignsOnceForAllReaders) {
  Program program = test::two_layers(Aggregation::sum, true, true);
  apply_precision(program, std::array{Precision::bin, Precision::bin, Precision::full});
  make_signs_early(program);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBB layer 0 (%0) : 64 x sign\n"
            "%2 = BSpMM.BBB layer 0 (%1) : 64 x sign\n"
            "%3 = BMM.BBB layer 0 (%0) : 64 x sign\n"
            "%4 = ADD.BBB layer 0 (%2, %3) : 64 x sign\n"
            "%5 = BMM.BBB layer 1 (%4) : 64 x sign\n"
            "%6 = BSpMM.BBB layer 1 (%5) : 64 x sign\n"
            "%7 = BMM.BBB layer 1 (%4) : 64 x sign\n"
            "%8 = ADD.BBB layer 1 (%6, %7) : 64 x sign\n"
            "%9 = CONCAT layer 2 (%4, %8) : 128 x sign\n"
            "%10 = BMM.BBF layer 2 (%9) : 7 x float32\n"
            "result %10\n");
}

/// A linear layer in bin, and one in full that multiplies its output and adds it.
Program linear_and_residual() {
  ProgramBuilder build(100);
  const ValueId x = build.product(build.features(), WeightOf::neighbor, 64);
  build.begin_layer(1);
  const ValueId y = build.aggregate(build.product(x, WeightOf::neighbor, 64), Aggregation::mean);
  return build.finish(build.add(y, x));
}

TEST(SignsPass, GivesSignsOfWhatOthersReadAsFloatsMemoryForTheirScales) {
  Program program = linear_and_residual();
  apply_precision(program, std::array{Precision::bin, Precision::full});
  make_signs_early(program);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBF layer 0 (%0) : 64 x float32\n"
            "%2, %3 = BIN layer 1 (%1) : 64 x sign\n"
            "%4 = BMM.BBF layer 1 (%2) : 64 x float32\n"
            "%5 = BSpMM.FBF layer 1 (%4) : 64 x float32\n"
            "%6 = ADD.FFF layer 1 (%5, %1) : 64 x float32\n"
            "result %6\n");
}

TEST(DropoutPass, DropsTheInputOfEachLayerOnce) {
  Program program = test::two_layers(Aggregation::mean, true);
  fold_activations(program);
  drop_inputs(program);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x float32\n"
            "%9 = DROPOUT layer 0 (%0) : 100 x float32\n"
            "%1 = MM layer 0 (%9) : 64 x float32\n"
            "%2 = BSpMM.FBF layer 0 (%1) : 64 x float32\n"
            "%3 = MM layer 0 (%9) : 64 x float32\n"
            "%4 = ADD.FFF layer 0 (%2, %3) : 64 x float32\n"
            "%10 = DROPOUT layer 1 (%4) : 64 x float32\n"
            "%5 = MM layer 1 (%10) : 7 x float32\n"
            "%6 = BSpMM.FBF layer 1 (%5) : 7 x float32\n"
            "%7 = MM layer 1 (%10) : 7 x float32\n"
            "%8 = ADD.FFF layer 1 (%6, %7) : 7 x float32\n"
            "result %8\n");
}

}  // namespace
}  // namespace bitgraph::nn
