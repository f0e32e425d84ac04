// SPDX-License-Identifier: Apache-2.0
#include "nn/program/passes/pass_cases.hpp"

#include <gtest/gtest.h>

namespace bitgraph::nn {
namespace {

InferenceOptions counts_first() {
  InferenceOptions options = test::forms({Precision::bin, Precision::full});
  options.sequence = Sequence::aggregate_first;
  return options;
}

/// A layer that votes, and one that takes a mean, which may be of counts.
Program votes_and_mean(const InferenceOptions& options) {
  Program program = test::two_layers(Aggregation::mean_with_self, false);
  apply_precision(program, options.forms);
  make_signs_early(program);
  return program;
}

TEST(SplitRowsPass, TakesAggregationsPartByPart) {
  Program program = test::two_layers(Aggregation::symmetric, false);
  split_rows(program, 4);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x float32\n"
            "%1 = MM layer 0 (%0) : 64 x float32\n"
            "%2 = BSpMM.FBF by parts layer 0 (%1) : 64 x float32\n"
            "%3 = RELU layer 0 (%2) : 64 x float32\n"
            "%4 = MM layer 1 (%3) : 7 x float32\n"
            "%5 = BSpMM.FBF by parts layer 1 (%4) : 7 x float32\n"
            "result %5\n");
}

TEST(SplitRowsPass, CountsIntoScratchOfOnePart) {
  const InferenceOptions options = counts_first();
  Program program = votes_and_mean(options);
  sequence(program, {.options = options, .graph = test::large_graph()});
  split_rows(program, 4);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBB layer 0 (%0) : 64 x sign\n"
            "%2 = BSpMM.BBB by parts layer 0 (%1) : 64 x sign\n"
            "%3, %4 = BSpMM.BBF + BMM by parts layer 1 (%2) : 7 x float32\n"
            "result %3\n");
  EXPECT_EQ(program.value(4).rows(100), 25U);
  EXPECT_EQ(program.value(4).columns, 64U);
}

TEST(JoinRowsPass, PutsSignsOfLayersTogetherSomeRowsAtATime) {
  const InferenceOptions options = test::forms({Precision::bin, Precision::bin, Precision::full});
  Program program = test::two_layers(Aggregation::sum, false, true);
  apply_precision(program, options.forms);
  make_signs_early(program);
  remove_dead(program);
  const std::string before = to_text(program);
  join_rows(program, {.options = options, .graph = test::large_graph(), .on_host = false});
  EXPECT_EQ(to_text(program), before) << "only the host gains by it";
  join_rows(program, {.options = options, .graph = test::large_graph()});
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBB layer 0 (%0) : 64 x sign\n"
            "%2 = BSpMM.BBB layer 0 (%1) : 64 x sign\n"
            "%3 = BMM.BBB layer 1 (%2) : 64 x sign\n"
            "%4 = BSpMM.BBB layer 1 (%3) : 64 x sign\n"
            "%5, %6 = CONCAT + BMM.BBF by parts layer 2 (%2, %4) : 7 x float32\n"
            "result %5\n");
  EXPECT_LT(program.value(6).rows(100000), 10000U);
}

TEST(PartsOfRows, AreMoreWhereCountsWouldTakeTooMuchMemory) {
  const InferenceOptions options = counts_first();
  Program program = votes_and_mean(options);
  const GraphFacts graph{.nodes = 1000000, .entries = 1000000, .longest_row = 30};
  EXPECT_EQ(parts_of_rows(program, {.options = options, .graph = graph, .on_host = false}, 1), 1U);
  sequence(program, {.options = options, .graph = graph});
  // 256 MB of counts, at most 32 MB at once on a device and 2 MB on the host.
  EXPECT_EQ(parts_of_rows(program, {.options = options, .graph = graph, .on_host = false}, 1), 8U);
  EXPECT_EQ(parts_of_rows(program, {.options = options, .graph = graph}, 1), 123U);
  EXPECT_EQ(parts_of_rows(program, {.options = options, .graph = graph}, 500), 500U);
}

/// The copy is of the whole graph.
TEST(PartsOfRows, IsOneWhereVotesReadACopyOfTheGraph) {
  InferenceOptions options = counts_first();
  options.graph = GraphFormat::tiles;
  Program program = votes_and_mean(options);
  const PassContext context{.options = options, .graph = {.nodes = 1000000, .entries = 1000000, .longest_row = 30}};
  sequence(program, context);
  choose_graph_forms(program, context);
  EXPECT_EQ(parts_of_rows(program, context, 1), 1U);
}

}  // namespace
}  // namespace bitgraph::nn
