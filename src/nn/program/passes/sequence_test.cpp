// SPDX-License-Identifier: Apache-2.0
#include "nn/program/passes/pass_cases.hpp"

#include <gtest/gtest.h>

namespace bitgraph::nn {
namespace {

Program of_last_layer(std::size_t classes, const InferenceOptions& options) {
  const LayerShape shapes[] = {{Aggregation::mean_with_self, false, 100, 256},
                               {Aggregation::mean_with_self, false, 256, classes}};
  Program program = program_of(shapes, false);
  apply_precision(program, options.forms);
  make_signs_early(program);
  remove_dead(program);
  return program;
}

const char* const update_first =
    "%0 = features : 100 x sign*row\n"
    "%1 = BMM.BBB layer 0 (%0) : 256 x sign\n"
    "%2 = BSpMM.BBB layer 0 (%1) : 256 x sign\n"
    "%3 = BMM.BBF layer 1 (%2) : 100 x float32\n"
    "%4 = BSpMM.FBF layer 1 (%3) : 100 x float32\n"
    "result %4\n";

TEST(SequencePass, AggregatesFirstWhereNeighboursAreFewerBytesAsBits) {
  const InferenceOptions options = test::forms({Precision::bin, Precision::full});
  Program program = of_last_layer(100, options);
  EXPECT_EQ(to_text(program), update_first);
  // 32 bytes a neighbour, not 416.
  sequence(program, {.options = options, .graph = {.nodes = 1000, .entries = 100000, .longest_row = 300}});
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBB layer 0 (%0) : 256 x sign\n"
            "%2 = BSpMM.BBB layer 0 (%1) : 256 x sign\n"
            "%3 = BSpMM.BBF layer 1 (%2) : 256 x float32\n"
            "%4 = BMM, counts layer 1 (%3) : 100 x float32\n"
            "result %4\n");
}

TEST(SequencePass, UpdatesFirstWhereThatMovesFewerBytes) {
  const InferenceOptions options = test::forms({Precision::bin, Precision::full});
  Program program = of_last_layer(100, options);
  // Few neighbours: the counts of 256 columns, written and read again, are more than they save.
  sequence(program, {.options = options, .graph = {.nodes = 1000, .entries = 1000, .longest_row = 3}});
  EXPECT_EQ(to_text(program), update_first);
}

TEST(SequencePass, KeepsTheOrderThatIsAskedFor) {
  InferenceOptions options = test::forms({Precision::bin, Precision::full});
  options.sequence = Sequence::update_first;
  Program program = of_last_layer(100, options);
  sequence(program, {.options = options, .graph = {.nodes = 1000, .entries = 100000, .longest_row = 300}});
  EXPECT_EQ(to_text(program), update_first);
}

TEST(SequencePass, KeepsAMeanWhoseBiasARowWithoutNeighboursMustNotHave) {
  InferenceOptions options = test::forms({Precision::bin, Precision::full});
  options.sequence = Sequence::aggregate_first;
  const LayerShape shapes[] = {{Aggregation::mean, false, 100, 256}, {Aggregation::mean, false, 256, 100}};
  for (const bool has_empty_row : {false, true}) {
    Program program = program_of(shapes, false);
    apply_precision(program, options.forms);
    make_signs_early(program);
    sequence(program, {.options = options, .graph = {.nodes = 9, .entries = 9, .has_empty_row = has_empty_row}});
    EXPECT_EQ(to_text(program).find("counts") == std::string::npos, has_empty_row);
  }
}

}  // namespace
}  // namespace bitgraph::nn
