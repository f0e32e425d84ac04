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

TEST(PrecisionPass, DropsScalesInFrontOfASign) {
  Program program = test::two_layers(Aggregation::symmetric, false);
  apply_precision(program, votes_first);
  remove_dead(program);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBB layer 0 (%0) : 64 x sign\n"
            "%2 = BSpMM.BBB layer 0 (%1) : 64 x sign\n"
            "%3 = BMM.BBF layer 1 (%2) : 7 x float32\n"
            "%4 = BSpMM.FBF layer 1 (%3) : 7 x float32\n"
            "result %4\n");
}

}  // namespace
}  // namespace bitgraph::nn
