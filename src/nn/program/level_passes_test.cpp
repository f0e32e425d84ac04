// SPDX-License-Identifier: Apache-2.0
// What the passes make of layers of levels: where values become levels, what is made once, and epilogues.
#include "nn/program/passes/pass_cases.hpp"

#include <gtest/gtest.h>

#include <array>

namespace bitgraph::nn {
namespace {

using Forms = std::vector<Precision>;

const Precision w8a4m2 = Precision::of_levels(8, 4, 2);
const Forms two_forms{w8a4m2, w8a4m2.of_last_layer()};

std::string with_epilogues(Program program) {
  make_levels_early(program);
  program.validate();
  return to_text(program);
}

TEST(LevelsPass, QuantizesWhatIsMultipliedAndWhatIsAddedUp) {
  const Program program = test::in_forms(test::two_layers(Aggregation::symmetric, false), two_forms);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x levels4*row+offset\n"
            "%1 = bitMM2Int layer 0 (%0) : 64 x float32\n"
            "%2 = to_bit layer 0 (%1) : 64 x levels2*column+offset\n"
            "%3 = bitMM2Int, sparse layer 0 (%2) : 64 x float32\n"
            "%4 = RELU layer 0 (%3) : 64 x float32\n"
            "%5 = to_bit layer 1 (%4) : 64 x levels4*tensor+offset\n"
            "%6 = bitMM2Int layer 1 (%5) : 7 x float32\n"
            "%7 = to_bit layer 1 (%6) : 7 x levels8*column+offset\n"
            "%8 = bitMM2Int, sparse layer 1 (%7) : 7 x float32\n"
            "result %8\n");
  EXPECT_EQ(program.value(2).levels_of, LevelsOf::messages);
  EXPECT_EQ(program.value(5).levels_of, LevelsOf::input);
  EXPECT_EQ(program.value(5).scale_layer, 1U);
  EXPECT_EQ(program.operators[1].aggregation, Aggregation::symmetric) << "D^-1/2 goes in before";
  EXPECT_EQ(program.operators[4].aggregation, Aggregation::none);
}

TEST(LevelsPass, QuantizesProductsAlone) {
  const Precision products = Precision::of_levels(4, 4, 32);
  EXPECT_EQ(to_text(test::in_forms(test::two_layers(Aggregation::mean, false), {products, products})),
            "%0 = features : 100 x levels4*row+offset\n"
            "%1 = bitMM2Int layer 0 (%0) : 64 x float32\n"
            "%2 = BSpMM.FBF layer 0 (%1) : 64 x float32\n"
            "%3 = RELU layer 0 (%2) : 64 x float32\n"
            "%4 = to_bit layer 1 (%3) : 64 x levels4*tensor+offset\n"
            "%5 = bitMM2Int layer 1 (%4) : 7 x float32\n"
            "%6 = BSpMM.FBF layer 1 (%5) : 7 x float32\n"
            "result %6\n");
}

TEST(LevelsPass, QuantizesSumsAlone) {
  const Precision sums = Precision::of_levels(32, 32, 8);
  EXPECT_EQ(to_text(test::in_forms(test::two_layers(Aggregation::mean, false), {sums, Precision::real})),
            "%0 = features : 100 x float32\n"
            "%1 = MM layer 0 (%0) : 64 x float32\n"
            "%2 = to_bit layer 0 (%1) : 64 x levels8*column+offset\n"
            "%3 = bitMM2Int, sparse layer 0 (%2) : 64 x float32\n"
            "%4 = RELU layer 0 (%3) : 64 x float32\n"
            "%5 = MM layer 1 (%4) : 7 x float32\n"
            "%6 = BSpMM.FBF layer 1 (%5) : 7 x float32\n"
            "result %6\n");
}

TEST(LevelEpilogues, OfAGcnLayerTakeInTheFactorTheReluAndTheLevels) {
  Program program = test::in_forms(test::two_layers(Aggregation::symmetric, false), two_forms);
  EXPECT_EQ(with_epilogues(program),
            "%0 = features : 100 x levels4*row+offset\n"
            "%1 = bitMM2Bit layer 0 (%0) : 64 x levels2*column+offset\n"
            "%2 = bitMM2Bit, sparse layer 0 (%1) : 64 x levels4*tensor+offset\n"
            "%3 = bitMM2Bit layer 1 (%2) : 7 x levels8*column+offset\n"
            "%4 = bitMM2Int, sparse layer 1 (%3) : 7 x float32\n"
            "result %4\n");
  make_levels_early(program);
  EXPECT_EQ(program.operators[0].aggregation, Aggregation::symmetric);
  EXPECT_EQ(program.operators[0].activation, Activation::none);
  EXPECT_EQ(program.operators[1].activation, Activation::relu);
  EXPECT_EQ(program.operators[1].bias, BiasOf::layer);
  EXPECT_EQ(program.operators[2].aggregation, Aggregation::symmetric);
  EXPECT_EQ(program.operators[3].activation, Activation::none) << "logits are not rectified";
}

/// The node's own product adds the sum over neighbours, which stays floats.
TEST(LevelEpilogues, OfASageLayerTakeInTheAddition) {
  Program program = test::in_forms(test::two_layers(Aggregation::mean, true), two_forms);
  EXPECT_EQ(with_epilogues(program),
            "%0 = features : 100 x levels4*row+offset\n"
            "%1 = bitMM2Bit layer 0 (%0) : 64 x levels2*column+offset\n"
            "%2 = bitMM2Int, sparse layer 0 (%1) : 64 x float32\n"
            "%3 = bitMM2Bit + ADD.FFF layer 0 (%0, %2) : 64 x levels4*tensor+offset\n"
            "%4 = bitMM2Bit layer 1 (%3) : 7 x levels8*column+offset\n"
            "%5 = bitMM2Int, sparse layer 1 (%4) : 7 x float32\n"
            "%6 = bitMM2Int + ADD.FFF layer 1 (%3, %5) : 7 x float32\n"
            "result %6\n");
  make_levels_early(program);
  EXPECT_EQ(program.operators[0].aggregation, Aggregation::none) << "a mean's factor comes behind the sum";
  EXPECT_EQ(program.operators[2].activation, Activation::relu);
}

/// Messages have steps by columns, and D^-1/2 goes in before: no product that adds floats makes such levels.
TEST(LevelEpilogues, OfAnAdditionMakeNoMessages) {
  for (const Aggregation aggregation : {Aggregation::mean, Aggregation::symmetric}) {
    ProgramBuilder build(100);
    const ValueId x = build.features();
    const ValueId sum = build.aggregate(build.product(x, WeightOf::neighbor, 64), Aggregation::mean);
    const ValueId both = build.add(sum, build.product(x, WeightOf::root, 64));
    EXPECT_EQ(with_epilogues(test::in_forms(build.finish(build.aggregate(both, aggregation)), {w8a4m2})),
              "%0 = features : 100 x levels4*row+offset\n"
              "%1 = bitMM2Bit layer 0 (%0) : 64 x levels2*column+offset\n"
              "%2 = bitMM2Int, sparse layer 0 (%1) : 64 x float32\n"
              "%3 = bitMM2Int + ADD.FFF layer 0 (%0, %2) : 64 x float32\n"
              "%4 = to_bit layer 0 (%3) : 64 x levels2*column+offset\n"
              "%5 = bitMM2Int, sparse layer 0 (%4) : 64 x float32\n"
              "result %5\n");
  }
}

/// The rows of sums grow with the number of neighbours, and so do the steps of their levels.
TEST(LevelEpilogues, OfSumsMakeLevelsByDegree) {
  Program program = test::in_forms(test::two_layers(Aggregation::sum_with_self, false),
                                   {w8a4m2.with_input_by_degree(), w8a4m2.with_input_by_degree().of_last_layer()});
  EXPECT_FALSE(program.value(0).by_degree()) << "features have steps of their own";
  EXPECT_EQ(with_epilogues(program),
            "%0 = features : 100 x levels4*row+offset\n"
            "%1 = bitMM2Bit layer 0 (%0) : 64 x levels2*column+offset\n"
            "%2 = bitMM2Bit, sparse layer 0 (%1) : 64 x levels4*row+offset\n"
            "%3 = bitMM2Bit layer 1 (%2) : 7 x levels8*column+offset\n"
            "%4 = bitMM2Int, sparse layer 1 (%3) : 7 x float32\n"
            "result %4\n");
  make_levels_early(program);
  EXPECT_EQ(program.operators[1].activation, Activation::relu);
  EXPECT_TRUE(program.value(2).by_degree());
}

/// What an MLP gives to the next sum: levels by degree of a product, which ends with them, its relu included.
TEST(LevelEpilogues, OfProductsMakeLevelsByDegree) {
  ProgramBuilder build(100);
  ValueId x = build.aggregate(build.product(build.features(), WeightOf::neighbor, 64), Aggregation::sum_with_self);
  build.begin_layer(1);
  x = build.relu(build.product(build.relu(x), WeightOf::neighbor, 64, BiasOf::weight));
  build.begin_layer(2);
  x = build.aggregate(build.product(x, WeightOf::neighbor, 7), Aggregation::sum_with_self);
  const Precision form = w8a4m2.with_input_by_degree();
  Program program = test::in_forms(build.finish(x), {form, form, form});
  make_levels_early(program);
  program.validate();
  for (const Operator& op : program.operators) EXPECT_NE(op.kind, OperatorKind::quantize) << to_text(program);
  EXPECT_TRUE(program.value(program.operators[2].output()).by_degree()) << to_text(program);
  EXPECT_EQ(program.operators[2].activation, Activation::relu);
}

/// A layer's network: product, with or without a bias, relu where asked for, and an aggregation.
Program one_layer(BiasOf bias, bool relu, Aggregation aggregation) {
  ProgramBuilder build(100);
  ValueId x = build.product(build.features(), WeightOf::neighbor, 8, bias);
  if (relu) x = build.relu(x);
  return build.finish(build.aggregate(x, aggregation));
}

TEST(LevelEpilogues, AProductWithABiasTakesNoFactor) {
  EXPECT_EQ(with_epilogues(test::in_forms(one_layer(BiasOf::weight, false, Aggregation::symmetric), {w8a4m2})),
            "%0 = features : 100 x levels4*row+offset\n"
            "%1 = bitMM2Int layer 0 (%0) : 8 x float32\n"
            "%2 = to_bit layer 0 (%1) : 8 x levels2*column+offset\n"
            "%3 = bitMM2Int, sparse layer 0 (%2) : 8 x float32\n"
            "result %3\n");
  EXPECT_EQ(with_epilogues(test::in_forms(one_layer(BiasOf::weight, false, Aggregation::sum), {w8a4m2})),
            "%0 = features : 100 x levels4*row+offset\n"
            "%1 = bitMM2Bit layer 0 (%0) : 8 x levels2*column+offset\n"
            "%2 = bitMM2Int, sparse layer 0 (%1) : 8 x float32\n"
            "result %2\n");
}

TEST(LevelEpilogues, HaveOneActivationAndLevelsBehindIt) {
  ProgramBuilder build(100);
  ValueId x = build.tanh(build.aggregate(build.product(build.features(), WeightOf::neighbor, 8), Aggregation::sum));
  build.begin_layer(1);
  x = build.relu(build.tanh(build.product(x, WeightOf::neighbor, 5)));
  Program program = test::in_forms(build.finish(x), {w8a4m2, w8a4m2.of_last_layer()});
  EXPECT_EQ(with_epilogues(program),
            "%0 = features : 100 x levels4*row+offset\n"
            "%1 = bitMM2Bit layer 0 (%0) : 8 x levels2*column+offset\n"
            "%2 = bitMM2Bit, sparse + TANH layer 0 (%1) : 8 x levels4*tensor+offset\n"
            "%3 = bitMM2Int + TANH layer 1 (%2) : 5 x float32\n"
            "%4 = RELU layer 1 (%3) : 5 x float32\n"
            "result %4\n");
  make_levels_early(program);
  EXPECT_EQ(program.operators[1].activation, Activation::tanh);
  EXPECT_EQ(program.operators[2].activation, Activation::tanh);
}

TEST(LevelEpilogues, AProductWithABiasIsStillRectified) {
  Program program = test::in_forms(one_layer(BiasOf::weight, true, Aggregation::symmetric), {w8a4m2});
  make_levels_early(program);
  ASSERT_EQ(program.operators.size(), 3U);
  EXPECT_EQ(program.operators[0].activation, Activation::relu);
  EXPECT_EQ(program.operators[0].aggregation, Aggregation::none);
  EXPECT_EQ(program.operators[1].kind, OperatorKind::quantize);
}

TEST(LevelEpilogues, AValueWithTwoReadersIsNotFolded) {
  ProgramBuilder build(100);
  const ValueId product = build.product(build.features(), WeightOf::neighbor, 8);
  const ValueId sum = build.aggregate(product, Aggregation::sum);
  const Program program = test::in_forms(build.finish(build.add(sum, product)), {w8a4m2});
  EXPECT_EQ(with_epilogues(program), to_text(program));
}

TEST(LevelEpilogues, TheResultIsNotFoldedIntoWhatReadsIt) {
  ProgramBuilder build(100);
  const ValueId product = build.product(build.features(), WeightOf::neighbor, 8);
  static_cast<void>(build.aggregate(product, Aggregation::sum));
  Program program = build.finish(product);
  apply_precision(program, Forms{w8a4m2});
  make_levels_early(program);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x levels4*row+offset\n"
            "%1 = bitMM2Int layer 0 (%0) : 8 x float32\n"
            "result %1\n");
}

TEST(LevelEpilogues, ProductsOfFloatsAndSignsAreLeftAlone) {
  const Precision sums = Precision::of_levels(32, 32, 8);
  for (const Forms& forms : {Forms{sums, sums}, Forms{Precision::real, Precision::real}}) {
    const Program program = test::in_forms(test::two_layers(Aggregation::symmetric, false), forms);
    const std::string text = with_epilogues(program);
    EXPECT_EQ(text.find("bitMM2Bit layer"), std::string::npos) << text;
    EXPECT_NE(text.find("MM layer 0"), std::string::npos) << text;
  }
  Program signs = test::two_layers(Aggregation::symmetric, false);
  apply_precision(signs, Forms{Precision::full, Precision::full});
  remove_dead(signs);
  EXPECT_EQ(with_epilogues(signs), to_text(signs));
}

NumberFormat features_of(const Program& program, const Forms& forms) { return format_of_features(program, forms); }

TEST(FormatOfFeatures, IsLevelsWhereProductsOfLevelsAloneReadThem) {
  const Program sage = test::two_layers(Aggregation::mean, true);
  const NumberFormat levels{NumberKind::levels, 4, ScaleExtent::row, true};
  EXPECT_EQ(features_of(sage, two_forms), levels);
  EXPECT_EQ(features_of(sage, {w8a4m2, Precision::real}), levels);
  EXPECT_EQ(features_of(sage, {Precision::real, w8a4m2}), NumberFormat());
  EXPECT_EQ(features_of(sage, {Precision::of_levels(32, 32, 8), w8a4m2}), NumberFormat());
  EXPECT_EQ(features_of(sage, {Precision::bin, Precision::full}), Precision::bin.input);
}

TEST(FormatOfFeatures, IsFloatsWhereSomethingElseReadsThemToo) {
  const auto format = [](auto&& network, const Forms& forms) {
    ProgramBuilder build(16);
    return features_of(build.finish(network(build)), forms);
  };
  const auto summed_too = [](ProgramBuilder& b) {
    return b.add(b.product(b.features(), WeightOf::neighbor, 16), b.aggregate(b.features(), Aggregation::sum));
  };
  EXPECT_EQ(format(summed_too, {w8a4m2}), NumberFormat());
  const auto added_too = [](ProgramBuilder& b) {
    return b.add(b.product(b.features(), WeightOf::neighbor, 16), b.features());
  };
  EXPECT_EQ(format(added_too, {w8a4m2}), NumberFormat());
  const auto two_layers = [](ProgramBuilder& b) {
    const ValueId first = b.product(b.features(), WeightOf::neighbor, 16);
    b.begin_layer(1);
    return b.add(b.product(b.features(), WeightOf::neighbor, 16), first);
  };
  const Precision w2a4 = Precision::of_levels(2, 4, 4);
  EXPECT_EQ(format(two_layers, {w8a4m2, w2a4}).kind, NumberKind::levels) << "as many bits for both";
  EXPECT_EQ(format(two_layers, {w8a4m2, Precision::of_levels(8, 8, 2)}), NumberFormat());
  EXPECT_EQ(format(two_layers, {w8a4m2, Precision::real}), NumberFormat());
  const auto not_read = [](ProgramBuilder& b) { return b.features(); };
  EXPECT_EQ(format(not_read, {w8a4m2}), NumberFormat());
}

TEST(SharePass, MakesLevelsOfALayerOnceAndThoseOfTwoLayersApart) {
  const Precision w4a4 = Precision::of_levels(4, 4, 32);
  ProgramBuilder build(100);
  const ValueId x = build.relu(build.product(build.features(), WeightOf::neighbor, 8));
  build.begin_layer(1);
  const ValueId neighbor = build.product(x, WeightOf::neighbor, 8);
  const ValueId first = build.add(neighbor, build.product(x, WeightOf::root, 8));
  build.begin_layer(2);
  Program program = build.finish(build.add(first, build.product(x, WeightOf::neighbor, 8)));
  apply_precision(program, Forms{Precision::real, w4a4, w4a4});
  share(program);
  remove_dead(program);
  EXPECT_EQ(to_text(program),
            "%0 = features : 100 x float32\n"
            "%1 = MM layer 0 (%0) : 8 x float32\n"
            "%2 = RELU layer 0 (%1) : 8 x float32\n"
            "%3 = to_bit layer 1 (%2) : 8 x levels4*tensor+offset\n"
            "%4 = bitMM2Int layer 1 (%3) : 8 x float32\n"
            "%5 = bitMM2Int layer 1 (%3) : 8 x float32\n"
            "%6 = ADD.FFF layer 1 (%4, %5) : 8 x float32\n"
            "%7 = to_bit layer 2 (%2) : 8 x levels4*tensor+offset\n"
            "%8 = bitMM2Int layer 2 (%7) : 8 x float32\n"
            "%9 = ADD.FFF layer 2 (%6, %8) : 8 x float32\n"
            "result %9\n");
}

/// Sums and products of levels, unless rows come part by part; behind all else there is an operator.
TEST(LevelsPass, TheLastOperatorStoresItsRowsInTheCallersOrder) {
  const auto last_of = [](Program program) {
    const std::size_t before = program.operators.size();
    reorder_result(program);
    program.validate();
    EXPECT_EQ(program.operators.back().outputs.front(), program.result);
    EXPECT_EQ(program.operators.size() - before, program.operators.back().reorders ? 0U : 1U);
    return paper_name(program, program.operators.back());
  };
  const Precision products = Precision::of_levels(4, 4, 32);
  Program sums = test::in_forms(test::two_layers(Aggregation::symmetric, false), two_forms);
  EXPECT_EQ(last_of(sums), "bitMM2Int, sparse + REORDER");
  sums.operators.back().by_parts = true;
  EXPECT_EQ(last_of(sums), "REORDER");
  EXPECT_EQ(last_of(test::in_forms(test::two_layers(Aggregation::none, false), {products, products})),
            "bitMM2Int + REORDER");
  EXPECT_EQ(last_of(test::in_forms(test::two_layers(Aggregation::mean, false), {products, products})), "REORDER");
  EXPECT_EQ(last_of(test::in_forms(test::two_layers(Aggregation::mean, true), two_forms)), "REORDER");
  EXPECT_EQ(last_of(test::two_layers(Aggregation::mean, false)), "REORDER");
}

}  // namespace
}  // namespace bitgraph::nn
