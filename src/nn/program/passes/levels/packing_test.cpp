// SPDX-License-Identifier: Apache-2.0
#include "nn/program/passes/pass_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace bitgraph::nn {
namespace {

const GraphFacts large{.nodes = 100000, .entries = 5000000, .longest_row = 500};

/// Two layers, the columns of the first one's output, and what comes before the choice of packing.
Program levels_on_a_device(const std::vector<Precision>& forms, Activation activation, const InferenceOptions& options,
                           std::size_t columns = 64, const GraphFacts& graph = large, bool on_host = false) {
  ProgramBuilder build(100);
  const LayerShape first{Aggregation::symmetric, false, 100, columns},
      second{Aggregation::symmetric, false, columns, 7};
  build.begin_layer(0);
  ValueId hidden = standard_layer(build, first, build.features());
  hidden = activation == Activation::tanh ? build.tanh(hidden) : build.relu(hidden);
  build.begin_layer(1);
  Program program = build.finish(standard_layer(build, second, hidden));
  apply_precision(program, forms);
  fold_activations(program);
  make_levels_early(program);
  choose_graph_forms(program, {.options = options, .graph = graph, .on_host = on_host, .features_in_planes = true});
  return program;
}

std::vector<Precision> of_bits(int first, int second) {
  return {Precision::of_levels(first, first, first), Precision::of_levels(second, second, second)};
}

/// The values in planes, a letter each in their order: p, or - for others.
std::string packed(Program program, const InferenceOptions& options, bool features_in_planes = true) {
  pack_levels_in_planes(
      program, {.options = options, .graph = large, .on_host = false, .features_in_planes = features_in_planes});
  program.validate();
  std::string letters;
  for (const Value& value : program.values) letters += value.packing == LevelPacking::planes ? 'p' : '-';
  return letters;
}

TEST(LevelPacking, IsPlanesFromTheFeaturesToTheLastProduct) {
  const InferenceOptions any;
  Program program = levels_on_a_device(of_bits(2, 2), Activation::relu, any);
  pack_levels_in_planes(program, {.options = any, .graph = large, .on_host = false, .features_in_planes = true});
  program.validate();
  const std::string text = to_text(program);
  for (const char* const line : {"features : 100 x levels2", "bitMM2Bit layer 0 (%0) : 64 x levels2",
                                 "layer 0 (%1) : 64 x levels2", "bitMM2Bit layer 1 (%2) : 7 x levels2"})
    EXPECT_NE(text.find(line), std::string::npos) << line << " in\n" << text;
  std::size_t count = 0;
  for (std::size_t at = text.find(" in planes"); at != std::string::npos; at = text.find(" in planes", at + 1)) ++count;
  EXPECT_EQ(count, 3U) << text;
}

/// Sums over few entries make no planes of nibbles, but they take planes that are there.
TEST(LevelPacking, GivesASumMemoryOverAnyGraph) {
  const InferenceOptions any;
  const GraphFacts small{.nodes = 1000, .entries = 5000};
  Program program = levels_on_a_device(of_bits(2, 2), Activation::relu, any, 64, small);
  const auto sums = [&] {
    return std::ranges::count_if(program.operators, [&](const Operator& op) { return adds_planes(program, op); });
  };
  EXPECT_EQ(sums(), 0);
  pack_levels_in_planes(program, {.options = any, .graph = small, .on_host = false, .features_in_planes = true});
  program.validate();
  EXPECT_EQ(sums(), 1);
  Program unpacked = levels_on_a_device(of_bits(2, 2), Activation::relu, any, 65, small);
  pack_levels_in_planes(unpacked, {.options = any, .graph = small, .on_host = false, .features_in_planes = true});
  for (const Operator& op : unpacked.operators) EXPECT_FALSE(adds_planes(unpacked, op));
}

TEST(LevelPacking, LeavesASumNoMemoryForPlanesOfItsInput) {
  const InferenceOptions any;
  Program program = levels_on_a_device(of_bits(2, 2), Activation::relu, any);
  std::size_t sums = 0;
  const Program before = program;
  pack_levels_in_planes(program, {.options = any, .graph = large, .on_host = false, .features_in_planes = true});
  for (const Operator& op : program.operators) {
    if (!adds_planes(program, op)) continue;
    ++sums;
    const std::size_t nodes = 100'000;
    EXPECT_GE(before.value(op.outputs[1]).bytes(nodes), nodes * 16);
    EXPECT_EQ(program.value(op.outputs[1]).bytes(nodes), program.value(op.outputs[1]).bytes(1)) << "thresholds alone";
  }
  EXPECT_EQ(sums, 1U);
}

TEST(LevelPacking, KeepsWhatASumHasPreparedInMemoryOfItsOwn) {
  const InferenceOptions any;
  Program program = levels_on_a_device(of_bits(2, 2), Activation::relu, any);
  pack_levels_in_planes(program, {.options = any, .graph = large, .on_host = false, .features_in_planes = true});
  const auto sum =
      std::ranges::find_if(program.operators, [&](const Operator& op) { return adds_planes(program, op); });
  ASSERT_NE(sum, program.operators.end());
  const ValueId kept = sum->outputs[1];
  ASSERT_NE(program.value(kept).prepared_words, 0U);
  constexpr std::size_t nodes = 1000;
  const Layout layout = place(program, nodes);
  const std::size_t begin = layout.offset[kept], end = begin + program.value(kept).bytes(nodes);
  for (ValueId v = 0; v < program.values.size(); ++v) {
    if (v == kept || v == program.features) continue;
    EXPECT_TRUE(layout.offset[v] >= end || layout.offset[v] + program.value(v).bytes(nodes) <= begin) << '%' << v;
  }
}

TEST(LevelPacking, IsPlacesWhereAKernelTakesNoPlanes) {
  const InferenceOptions any;
  const auto packed_of = [&](const std::vector<Precision>& forms, Activation activation = Activation::relu,
                             std::size_t columns = 64) {
    return packed(levels_on_a_device(forms, activation, any, columns), any);
  };
  EXPECT_EQ(packed_of(of_bits(2, 2)), "ppp---");
  EXPECT_EQ(packed_of(of_bits(4, 4)), "-----") << "levels of 4 bits";
  EXPECT_EQ(packed_of(of_bits(2, 4)), "p----") << "the next product takes 4 bits";
  EXPECT_EQ(packed_of(of_bits(2, 2), Activation::tanh), "p----") << "a sum with a tanh has no planes";
  EXPECT_EQ(packed_of(of_bits(2, 2), Activation::relu, 65), "p----") << "nor has one of 65 columns";
  EXPECT_EQ(packed(levels_on_a_device(of_bits(2, 2), Activation::relu, any), any, false), "------")
      << "where the features are in places";
}

TEST(LevelPacking, OnTheHostTakesWOfAnyBits) {
  const InferenceOptions any;
  const Precision w8a2 = Precision::of_levels(8, 2, 2);
  for (const auto& forms : {of_bits(2, 2), std::vector{w8a2, w8a2}}) {
    Program program = levels_on_a_device(forms, Activation::relu, any, 64, large, true);
    pack_levels_in_planes(program, {.options = any, .graph = large, .on_host = true, .features_in_planes = true});
    program.validate();
    std::size_t sums = 0;
    for (const Operator& op : program.operators) {
      if (!adds_planes(program, op)) continue;
      ++sums;
      EXPECT_EQ(op.graph, GraphForm::csr_by_length) << "the order of its rows";
      EXPECT_EQ(program.value(op.output()).packing, LevelPacking::planes);
      EXPECT_NE(program.value(op.outputs[1]).prepared_words, 0U);
    }
    EXPECT_EQ(sums, 1U) << to_text(program);
  }
}

bool packs(const InferenceOptions& options, const GraphFacts& graph = large, bool on_host = false) {
  const LayerShape shapes[] = {{Aggregation::symmetric, false, 100, 64}, {Aggregation::symmetric, false, 64, 7}};
  return packs_features(program_of(shapes, false), {.options = options, .graph = graph, .on_host = on_host});
}

TEST(LevelPacking, OfFeaturesIsPlanesOverAPattern) {
  InferenceOptions any;
  any.forms = of_bits(2, 2);
  EXPECT_TRUE(packs(any));
  EXPECT_TRUE(packs(any, large, true)) << "on the host";
  EXPECT_TRUE(packs(any, {.nodes = 9, .entries = 9})) << "whatever its size";
  GraphFacts full = large;
  full.entries_a_tile = 560;
  EXPECT_FALSE(packs(any, full)) << "sums take tiles";
  const auto with = [&](const auto& change) {
    InferenceOptions changed = any;
    change(changed);
    return changed;
  };
  EXPECT_FALSE(packs(with([](InferenceOptions& o) { o.levels = LevelStrategy::bytes; })));
  EXPECT_FALSE(packs(with([](InferenceOptions& o) { o.memory = 1 << 30; }))) << "the rows may come in parts";
  EXPECT_FALSE(packs(with([](InferenceOptions& o) { o.capacity.nodes = 200000; }))) << "rows may be added";
  EXPECT_FALSE(packs(with([](InferenceOptions& o) { o.graph = GraphFormat::tiles; })));
  EXPECT_FALSE(packs(with([](InferenceOptions& o) { o.forms = of_bits(4, 4); })));
}

}  // namespace
}  // namespace bitgraph::nn
