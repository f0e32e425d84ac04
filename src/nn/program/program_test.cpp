// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/program.hpp>

#include "nn/program/layers.hpp"
#include "support/expect_error.hpp"

#include <gtest/gtest.h>

namespace bitgraph::nn {
namespace {

Program sage_layer() {
  const LayerShape shapes[] = {{Aggregation::mean, true, 10, 4}};
  return program_of(shapes, false);
}

TEST(Program, PrintsOneLineForEachOperator) {
  EXPECT_EQ(to_text(sage_layer()),
            "%0 = features : 10 x float32\n"
            "%1 = MM layer 0 (%0) : 4 x float32\n"
            "%2 = BSpMM.FBF layer 0 (%1) : 4 x float32\n"
            "%3 = MM layer 0 (%0) : 4 x float32\n"
            "%4 = ADD.FFF layer 0 (%2, %3) : 4 x float32\n"
            "result %4\n");
}

TEST(Program, IsDrawnWithAnArrowForEachInput) {
  const std::string dot = to_dot(sage_layer());
  EXPECT_NE(dot.find("features -> op0 [label=\"10 x float32\"]"), std::string::npos) << dot;
  EXPECT_NE(dot.find("features -> op2"), std::string::npos) << dot;
  EXPECT_NE(dot.find("op1 -> op3"), std::string::npos) << dot;
}

TEST(Program, OfAnotherShapeHasAnotherFingerprint) {
  const LayerShape wider[] = {{Aggregation::mean, true, 10, 5}};
  EXPECT_EQ(sage_layer().fingerprint(), sage_layer().fingerprint());
  EXPECT_NE(sage_layer().fingerprint(), program_of(wider, false).fingerprint());
  Program in_bits = sage_layer();
  in_bits.values[2].format = {NumberKind::sign, 1};
  EXPECT_NE(sage_layer().fingerprint(), in_bits.fingerprint());
}

TEST(Program, OfLayersThatDoNotFitNamesLayerAndOperator) {
  ProgramBuilder build(10);
  build.begin_layer(3);
  const ValueId x = build.product(build.features(), WeightOf::neighbor, 4);
  test::expect_error([&] { build.add(x, build.features()); }, ErrorCode::usage, "layer 3, add: adds 4 columns and 10");
  test::expect_error([&] { build.concat({}); }, ErrorCode::usage,
                     "layer 3, concat: puts 0 values side by side, expected 1 to 64");
}

TEST(Program, IsRefusedWhereAnOperatorReadsWhatIsNotMadeYet) {
  Program program = sage_layer();
  std::swap(program.operators[0], program.operators[1]);
  test::expect_error([&] { program.validate(); }, ErrorCode::usage,
                     "layer 0, aggregate: reads %1 before an operator makes it");
  program = sage_layer();
  program.operators[1].outputs = {1};
  test::expect_error([&] { program.validate(); }, ErrorCode::usage,
                     "layer 0, aggregate: makes %1, which is there already");
  program = sage_layer();
  program.operators.clear();
  test::expect_error([&] { program.validate(); }, ErrorCode::usage, "the program does not make its result");
}

TEST(Program, IsRefusedWhereFormatsDoNotFit) {
  Program program = sage_layer();
  program.values[3].format = {NumberKind::sign, 1};
  test::expect_error([&] { program.validate(); }, ErrorCode::usage, "layer 0, add: adds signs and numbers");
}

}  // namespace
}  // namespace bitgraph::nn
