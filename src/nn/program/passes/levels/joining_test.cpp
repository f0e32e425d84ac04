// SPDX-License-Identifier: Apache-2.0
#include "nn/program/passes/pass_cases.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bitgraph::nn {
namespace {

const Precision w4a4 = Precision::of_levels(4, 4, 4);

/// Two layers whose outputs, of so many columns, stand side by side ahead of the last one, as compile() brings them to
/// the pass.
Program joined(Precision precision, std::size_t first = 64, std::size_t second = 64) {
  const LayerShape layers[] = {{Aggregation::mean, true, 100, first},
                               {Aggregation::mean, true, first, second},
                               {Aggregation::none, false, first + second, 7}};
  return test::in_forms(program_of(layers, true), std::vector<Precision>(3, precision));
}

std::string behind_the_pass(Program program) {
  quantize_before_joining(program);
  program.validate();
  return to_text(program);
}

/// The lines from the one that begins so on.
std::string from(const std::string& text, const std::string& begin) {
  const std::size_t at = text.find(begin);
  EXPECT_NE(at, std::string::npos) << begin << " in\n" << text;
  return at == std::string::npos ? text : text.substr(at);
}

TEST(QuantizeBeforeJoiningPass, MakesLevelsOfEachPart) {
  const Program program = joined(w4a4);
  EXPECT_EQ(from(to_text(program), "%11 ="),
            "%11 = ADD.FFF layer 1 (%9, %10) : 64 x float32\n"
            "%12 = CONCAT layer 2 (%5, %11) : 128 x float32\n"
            "%13 = to_bit layer 2 (%12) : 128 x levels4*tensor+offset\n"
            "%14 = bitMM2Int layer 2 (%13) : 7 x float32\n"
            "result %14\n");
  EXPECT_EQ(from(behind_the_pass(program), "%11 ="),
            "%11 = ADD.FFF layer 1 (%9, %10) : 64 x float32\n"
            "%12 = to_bit layer 2 (%5) : 64 x levels4*tensor+offset\n"
            "%13 = to_bit layer 2 (%11) : 64 x levels4*tensor+offset\n"
            "%14 = CONCAT layer 2 (%12, %13) : 128 x levels4*tensor+offset\n"
            "%15 = bitMM2Int layer 2 (%14) : 7 x float32\n"
            "result %15\n");
}

TEST(QuantizeBeforeJoiningPass, LetsAProductMakeLevelsThatNobodyElseNeeds) {
  Program program = joined(w4a4);
  quantize_before_joining(program);
  make_levels_early(program);
  program.validate();
  const std::string text = to_text(program);
  EXPECT_NE(text.find("bitMM2Bit + ADD.FFF layer 1"), std::string::npos) << text;
  EXPECT_EQ(text.find("128 x float32"), std::string::npos) << text;
}

TEST(QuantizeBeforeJoiningPass, LeavesPartsThatEndWithinAWord) {
  for (const std::size_t columns : {60, 24, 8}) {
    const Program program = joined(w4a4, columns);
    EXPECT_EQ(behind_the_pass(program), to_text(program)) << columns << " columns";
  }
  EXPECT_NE(behind_the_pass(joined(w4a4, 64, 7)), to_text(joined(w4a4, 64, 7)))
      << "nothing stands behind the last part";
}

TEST(QuantizeBeforeJoiningPass, LeavesSignsAndFloats) {
  for (const Precision precision : {Precision::full, Precision::real}) {
    const Program program = joined(precision);
    EXPECT_EQ(behind_the_pass(program), to_text(program)) << to_string(precision);
  }
}

TEST(QuantizeBeforeJoiningPass, LeavesWhatSomebodyElseReads) {
  Program program = joined(w4a4);
  const Operator& last = program.operators.back();
  const ValueId side_by_side = program.operators[program.producer(last.inputs[0])].inputs[0];
  const ValueId added = program.add_value(program.value(side_by_side));
  program.operators.push_back({.kind = OperatorKind::relu, .inputs = {side_by_side}, .outputs = {added}, .layer = 2});
  program.result = added;
  EXPECT_NE(behind_the_pass(program).find("CONCAT layer 2 (%5, %11) : 128 x float32"), std::string::npos);
}

}  // namespace
}  // namespace bitgraph::nn
