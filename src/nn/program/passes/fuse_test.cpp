// SPDX-License-Identifier: Apache-2.0
#include "nn/program/passes/pass_cases.hpp"
#include "support/expect_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace bitgraph::nn {
namespace {

/// As compile() brings it to fuse().
Program before_fusing(Program program, const PassContext& context) {
  apply_precision(program, context.options.forms);
  make_signs_early(program);
  share(program);
  fold_activations(program);
  sequence(program, context);
  remove_dead(program);
  return program;
}

std::string fused(Program program, const PassContext& context) {
  fuse(program, context);
  program.validate();
  return to_text(program);
}

/// Sums with a weight for each neighbour too: the weights stand beside the scores.
TEST(FusePass, MakesAVoteAndTheLastLayersScoresOneKernel) {
  const InferenceOptions options = test::forms({Precision::bin, Precision::full});
  const PassContext context{.options = options, .graph = test::large_graph(), .on_host = false};
  for (const Aggregation aggregation : {Aggregation::mean_with_self, Aggregation::symmetric}) {
    const Program program = before_fusing(test::two_layers(aggregation, false), context);
    EXPECT_EQ(to_text(program),
              "%0 = features : 100 x sign*row\n"
              "%1 = BMM.BBB layer 0 (%0) : 64 x sign\n"
              "%2 = BSpMM.BBB layer 0 (%1) : 64 x sign\n"
              "%3 = BMM.BBF layer 1 (%2) : 7 x float32\n"
              "%4 = BSpMM.FBF layer 1 (%3) : 7 x float32\n"
              "result %4\n");
    EXPECT_EQ(fused(program, context),
              "%0 = features : 100 x sign*row\n"
              "%1 = BMM.BBB layer 0 (%0) : 64 x sign\n"
              "%2 = BSpMM.BBB + BMM.BBF layer 0 (%1, -, -) : 7 x scores of 64 bits\n"
              "%3 = BSpMM.FBF layer 1 (%2) : 7 x float32\n"
              "result %3\n");
  }
}

TEST(FusePass, OrsANodesOwnSignsInTheKernelOfTheVote) {
  const InferenceOptions options = test::forms({Precision::bin, Precision::full});
  const PassContext context{.options = options, .graph = test::large_graph(), .on_host = false};
  const Program program = before_fusing(test::two_layers(Aggregation::mean, true), context);
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
  EXPECT_EQ(fused(program, context),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBB layer 0 (%0) : 64 x sign\n"
            "%2 = BMM.BBB layer 0 (%0) : 64 x sign\n"
            "%3, %4 = BSpMM.BBB + ADD.BBB + BMM.BBF layer 0 (%1, %2, -) : 7 x scores of 64 bits\n"
            "%5 = BSpMM.FBF + ADD.FFF layer 1 (%3, %4) : 7 x float32\n"
            "result %5\n");
}

TEST(FusePass, MultipliesByTheLastLayerInTheKernelOfTheVoteBeforeIt) {
  const InferenceOptions options = test::forms({Precision::bin, Precision::bin, Precision::full});
  const PassContext context{.options = options, .graph = test::large_graph(), .on_host = false};
  const Program program = before_fusing(test::two_layers(Aggregation::sum, false, true), context);
  EXPECT_EQ(fused(program, context),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBB layer 0 (%0) : 64 x sign\n"
            "%2 = BSpMM.BBB layer 0 (%1, -, -) : 64 x sign\n"
            "%3 = BMM.BBB layer 1 (%2) : 64 x sign\n"
            "%4 = BSpMM.BBB + BMM.BBF layer 1 (%3, -, %2) : 7 x float32\n"
            "result %4\n");
}

TEST(FusePass, GathersBytesWhereNeighborsHaveWeightsAndScoresAreMany) {
  const InferenceOptions options = test::forms({Precision::bin, Precision::full});
  const PassContext context{.options = options, .graph = test::large_graph(), .on_host = false};
  const LayerShape shapes[] = {{Aggregation::symmetric, false, 100, 128}, {Aggregation::symmetric, false, 128, 41}};
  const Program program = before_fusing(program_of(shapes, false), context);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBB layer 0 (%0) : 128 x sign\n"
            "%2 = BSpMM.BBB layer 0 (%1) : 128 x sign\n"
            "%3 = BMM.BBF layer 1 (%2) : 41 x float32\n"
            "%4 = BSpMM.FBF layer 1 (%3) : 41 x float32\n"
            "result %4\n");
  EXPECT_EQ(fused(program, context),
            "%0 = features : 100 x sign*row\n"
            "%1 = BMM.BBB layer 0 (%0) : 128 x sign\n"
            "%2 = BSpMM.BBB layer 0 (%1, -, -) : 128 x sign\n"
            "%3 = BMM.BBF layer 1 (%2) : 41 x scaled scores of 128 bits\n"
            "%4 = BSpMM.FBF layer 1 (%3) : 41 x float32\n"
            "result %4\n");
}

/// Two layers of `bits`, the last layer's messages in 8 bits, as compile() brings them to fuse().
Program levels_before_fusing(int bits, std::size_t hidden, std::size_t classes, const PassContext& context,
                             Aggregation aggregation = Aggregation::mean_with_self) {
  const LayerShape shapes[] = {{aggregation, false, 100, hidden}, {aggregation, false, hidden, classes}};
  Program program = program_of(shapes, false);
  apply_precision(program, {{Precision::of_levels(bits, bits, bits), Precision::of_levels(bits, bits, 8)}});
  fold_activations(program);
  make_levels_early(program);
  choose_graph_forms(program, context);
  pack_levels_in_planes(program, context);
  remove_dead(program);
  return program;
}

TEST(FusePass, MultipliesSumsOfLevelsWhereTheyAreMade) {
  const InferenceOptions options;
  const PassContext context{.options = options, .graph = test::large_graph(), .on_host = false};
  const Program program = levels_before_fusing(4, 256, 7, context);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x levels4*row+offset\n"
            "%1 = bitMM2Bit layer 0 (%0) : 256 x levels4*column+offset\n"
            "%2 = bitMM2Bit, sparse layer 0 (%1) : 256 x levels4*tensor+offset\n"
            "%3 = bitMM2Bit layer 1 (%2) : 7 x levels8*column+offset\n"
            "%4 = bitMM2Int, sparse layer 1 (%3) : 7 x float32\n"
            "result %4\n");
  EXPECT_EQ(fused(program, context),
            "%0 = features : 100 x levels4*row+offset\n"
            "%1 = bitMM2Bit layer 0 (%0) : 256 x levels4*column+offset\n"
            "%2, %3 = bitMM2Bit, sparse + bitMM2Bit layer 0 (%1) : 7 x levels8*column+offset\n"
            "%4 = bitMM2Int, sparse layer 1 (%2) : 7 x float32\n"
            "result %4\n");
}

TEST(FusePass, TakesNoMemoryForLevelsThatStayInAKernel) {
  const InferenceOptions options;
  for (const int bits : {2, 4, 8}) {
    const PassContext context{
        .options = options, .graph = test::large_graph(), .on_host = false, .features_in_planes = bits == 2};
    Program program = levels_before_fusing(bits, 256, 7, context);
    constexpr std::size_t nodes = 100000;
    const std::size_t before = place(program, nodes).bytes;
    fuse(program, context);
    program.validate();
    const auto is_fused = [](const Operator& op) { return op.kind == OperatorKind::multiply_sums; };
    EXPECT_EQ(std::ranges::count_if(program.operators, is_fused), 1) << to_text(program);
    EXPECT_LT(place(program, nodes).bytes, before);
  }
}

TEST(FusePass, ASumWithoutTheProductBehindItIsRefused) {
  const InferenceOptions options;
  const PassContext context{
      .options = options, .graph = test::large_graph(), .on_host = false, .features_in_planes = true};
  Program program = levels_before_fusing(2, 256, 7, context);
  fuse(program, context);
  const auto at = std::ranges::find(program.operators, OperatorKind::multiply_sums, &Operator::kind);
  ASSERT_NE(at, program.operators.end());
  const Operator good = *at;
  EXPECT_TRUE(good.behind.front().inputs.empty() && good.behind.front().outputs.empty())
      << "passes number values anew, and do not look there";
  const auto refused = [&](const char* message) {
    bitgraph::test::expect_error([&] { program.validate(); }, ErrorCode::usage,
                                 std::string("layer 0, multiply sums: ") + message);
    *at = good;
  };
  at->behind.clear();
  refused("has no product behind its sum");
  at->outputs.resize(1);
  refused("has no product behind its sum");
  program.values[good.outputs.back()].prepared_words = 0;
  refused("has a last output that is not memory of a sum");
  program.values[good.outputs[1]].columns = 255;
  refused("makes 255 columns of 256");
}

TEST(FusePass, LeavesSumsOfLevelsThatNoKernelMultiplies) {
  const InferenceOptions options;
  const PassContext context{.options = options, .graph = test::large_graph(), .on_host = false};
  for (const Program& program : {levels_before_fusing(4, 256, 9, context), levels_before_fusing(4, 257, 7, context),
                                 levels_before_fusing(4, 100, 7, context), levels_before_fusing(2, 256, 7, context),
                                 levels_before_fusing(4, 256, 7, context, Aggregation::symmetric)})
    EXPECT_EQ(fused(program, context), to_text(program));
}

TEST(FusePass, LeavesTheHostASmallGraphAndPartsAlone) {
  const InferenceOptions options = test::forms({Precision::bin, Precision::full});
  InferenceOptions not_fused = options;
  not_fused.fusion = Fusion::none;
  for (const PassContext& context :
       {PassContext{.options = options, .graph = test::large_graph()},
        PassContext{.options = options, .graph = test::large_graph(), .on_host = false, .whole = false},
        PassContext{.options = options, .graph = {.nodes = 10, .entries = 20}, .on_host = false},
        PassContext{.options = not_fused, .graph = test::large_graph(), .on_host = false}}) {
    const Program program = before_fusing(test::two_layers(Aggregation::mean_with_self, false), context);
    EXPECT_EQ(fused(program, context), to_text(program));
  }
}

}  // namespace
}  // namespace bitgraph::nn
