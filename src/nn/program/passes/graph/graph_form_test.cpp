// SPDX-License-Identifier: Apache-2.0
#include "nn/program/passes/pass_cases.hpp"
#include "support/expect_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace bitgraph::nn {
namespace {

const std::vector<Precision> two_votes{Precision::bin, Precision::bin, Precision::full};

/// Two layers that vote, and one that aggregates nothing.
Program votes() {
  Program program = test::two_layers(Aggregation::sum, false, true);
  apply_precision(program, two_votes);
  make_signs_early(program);
  return program;
}

Program levels(int bits = 4) {
  Program program = test::two_layers(Aggregation::symmetric, false);
  apply_precision(program, std::vector<Precision>(2, Precision::of_levels(bits, bits, bits)));
  make_levels_early(program);
  return program;
}

/// The forms of the aggregations, a letter each.
std::string chosen(Program program, const PassContext& context) {
  choose_graph_forms(program, context);
  std::string forms;
  for (const Operator& op : program.operators) {
    if (op.kind == OperatorKind::aggregate) forms += "copsbt"[static_cast<int>(op.graph)];
  }
  return forms;
}

InferenceOptions named(GraphFormat format, int side = 8) {
  InferenceOptions options = test::forms(two_votes);
  options.graph = format;
  options.tile_dim = side;
  return options;
}

const GraphFacts long_rows{.nodes = 100000, .entries = 5000000, .longest_row = 500};

TEST(GraphForms, AreCsrByTheLengthOfRowsOnADevice) {
  const InferenceOptions any = named(GraphFormat::automatic);
  EXPECT_EQ(chosen(votes(), {.options = any, .graph = long_rows, .on_host = false}), "oo");
  EXPECT_EQ(chosen(votes(), {.options = any, .graph = test::large_graph()}), "cc") << "the host has no use for it";
  EXPECT_EQ(chosen(votes(), {.options = any, .graph = long_rows, .on_host = false, .whole = false}), "cc")
      << "nor have parts that come and go";
}

TEST(GraphForms, OfSumsOfLevelsOnADeviceKnowWhereRowsBegin) {
  const InferenceOptions any = named(GraphFormat::automatic);
  EXPECT_EQ(chosen(levels(), {.options = any, .graph = long_rows, .on_host = false}), "pp");
  InferenceOptions limited = any, grows = any;
  limited.memory = 1 << 30;
  grows.capacity.nodes = 200000;
  EXPECT_EQ(chosen(levels(), {.options = limited, .graph = long_rows, .on_host = false}), "oo") << "no room";
  EXPECT_EQ(chosen(levels(), {.options = grows, .graph = long_rows, .on_host = false}), "oo") << "the rows change";
  EXPECT_EQ(chosen(levels(), {.options = any, .graph = {.nodes = 1000, .entries = 1000}, .on_host = false}), "oo")
      << "one launch takes rows as they are";
}

TEST(GraphForms, OfNarrowSumsOfFloatsAreCsrAsItIs) {
  const InferenceOptions any = named(GraphFormat::automatic);
  const LayerShape shapes[] = {{Aggregation::symmetric, false, 100, 300}, {Aggregation::symmetric, false, 300, 7}};
  EXPECT_EQ(chosen(program_of(shapes, false), {.options = any, .graph = long_rows, .on_host = false}), "oc");
}

TEST(GraphForms, AreSellForVotesOverALargeGraphOnTheHost) {
  const InferenceOptions any = named(GraphFormat::automatic);
  EXPECT_EQ(chosen(votes(), {.options = any, .graph = long_rows}), "bb");
  EXPECT_EQ(chosen(votes(), {.options = any, .graph = long_rows, .whole = false}), "cc");
  EXPECT_EQ(chosen(votes(), {.options = any, .graph = {.nodes = 1000, .entries = 50000}}), "cc");
  EXPECT_EQ(chosen(levels(), {.options = any, .graph = long_rows}), "cc") << "sums of levels cannot read SELL";
  InferenceOptions grows = any;
  grows.capacity.nodes = 200000;
  EXPECT_EQ(chosen(votes(), {.options = grows, .graph = long_rows}), "cc") << "rows of SELL do not change";
}

TEST(GraphForms, AreThoseOfTheOptionsWhereOperatorsCanReadThem) {
  const InferenceOptions sell = named(GraphFormat::sell), tiles = named(GraphFormat::tiles, 16);
  EXPECT_EQ(chosen(votes(), {.options = sell, .graph = long_rows}), "ss");
  EXPECT_EQ(chosen(votes(), {.options = tiles, .graph = long_rows}), "tt");
  EXPECT_EQ(chosen(votes(), {.options = tiles, .graph = long_rows, .whole = false}), "cc");
  EXPECT_EQ(chosen(levels(), {.options = sell, .graph = long_rows}), "cc");
  EXPECT_EQ(chosen(levels(), {.options = tiles, .graph = long_rows}), "cc") << "planes meet tiles of side 64 alone";
  EXPECT_EQ(chosen(levels(), {.options = named(GraphFormat::tiles, 64), .graph = long_rows}), "tt");
}

/// Where a product of tiles and planes is quicker than gathers.
TEST(GraphForms, AreTilesForSumsOfLevelsWhereTilesAreFull) {
  const InferenceOptions any = named(GraphFormat::automatic);
  GraphFacts full = long_rows;
  full.entries_a_tile = 560;
  EXPECT_EQ(chosen(levels(), {.options = any, .graph = full, .on_host = false}), "tt");
  EXPECT_EQ(chosen(levels(8), {.options = any, .graph = full, .on_host = false}), "pp") << "8 planes cost more";
  EXPECT_EQ(chosen(votes(), {.options = any, .graph = full, .on_host = false}), "oo");
  EXPECT_EQ(chosen(levels(), {.options = any, .graph = full}), "cc") << "the host is quicker with gathers";
  EXPECT_EQ(chosen(levels(), {.options = named(GraphFormat::csr), .graph = full, .on_host = false}), "pp");
  InferenceOptions limited = any;
  limited.memory = 1 << 30;
  EXPECT_EQ(chosen(levels(), {.options = limited, .graph = full, .on_host = false}), "oo");
  full.nodes = full.entries = 1000;
  EXPECT_EQ(chosen(levels(), {.options = any, .graph = full, .on_host = false}), "oo") << "one launch has no tiles";
}

TEST(GraphFacts, CountEntriesOfTilesInASample) {
  constexpr NodeId nodes = 20000, block = 1000, degree = 100;
  std::vector<NodeId> rows, columns;
  for (NodeId i = 0; i < nodes; ++i) {
    for (NodeId k = 0; k < degree; ++k) {
      rows.push_back(i);
      columns.push_back(i / block * block + (i * 7 + k * 10) % block);
    }
  }
  constexpr double a_tile = 64.0 * 64 * degree / block;  // less at the rims of blocks
  const double found = GraphFacts::of(csr_from_edges(nodes, nodes, rows, columns)).entries_a_tile;
  EXPECT_GT(found, 0.8 * a_tile);
  EXPECT_LE(found, 1.01 * a_tile);
  EXPECT_EQ(GraphFacts::of(CsrPattern()).entries_a_tile, 0);
}

TEST(GraphForms, OfTilesGiveSumsOfLevelsMemoryForPlanes) {
  Program program = levels();
  const InferenceOptions tiles = named(GraphFormat::tiles, 64);
  choose_graph_forms(program, {.options = tiles, .graph = {.nodes = 300, .entries = 9000}});
  program.validate();
  const std::string text = to_text(program);
  EXPECT_NE(text.find("%2, %5 = bitMM2Bit, tiles layer 0 (%1) : 64 x levels4*"), std::string::npos) << text;
  EXPECT_NE(text.find("%4, %6 = bitMM2Int, tiles layer 1 (%3) : 7 x float32\n"), std::string::npos) << text;
  EXPECT_EQ(program.value(5).bytes(300), 3U * 8 * 4 * 128) << "3 slabs, 8 octets, 4 planes of 128 bytes";
}

/// How many sums have memory for planes, over such a graph on a device.
std::ptrdiff_t sums_by_planes(Program program, const GraphFacts& graph, const InferenceOptions& options) {
  choose_graph_forms(program, {.options = options, .graph = graph, .on_host = false});
  program.validate();
  return std::ranges::count_if(program.operators, [&](const Operator& op) { return adds_planes(program, op); });
}

TEST(GraphForms, GiveSumsPlanesAsTheStrategyThatIsNamedSays) {
  InferenceOptions options = named(GraphFormat::automatic);
  const GraphFacts few_entries{.nodes = 100000, .entries = 200000};
  options.levels = LevelStrategy::planes;
  EXPECT_EQ(sums_by_planes(levels(2), few_entries, options), 1);
  EXPECT_EQ(sums_by_planes(levels(4), few_entries, options), 0) << "there is no kernel";
  EXPECT_EQ(sums_by_planes(levels(2), {.nodes = 1000, .entries = 2000}, options), 0) << "one launch has none";
  options.levels = LevelStrategy::bytes;
  EXPECT_EQ(sums_by_planes(levels(2), long_rows, options), 0);
}

TEST(LevelStrategies, AreOfProductsOnADeviceThatHaveBoth) {
  InferenceOptions options;
  options.levels = LevelStrategy::bytes;
  const auto named_products = [&](int bits, bool on_host) {
    Program program = levels(bits);
    name_level_strategy(program, {.options = options, .graph = long_rows, .on_host = on_host});
    return std::ranges::count(program.operators, LevelStrategy::bytes, &Operator::levels);
  };
  EXPECT_EQ(named_products(2, false), 2);
  EXPECT_EQ(named_products(4, false), 0);
  EXPECT_EQ(named_products(2, true), 0);
}

TEST(GraphForms, OfALargePatternGiveSumsOfTwoBitsMemoryForPlanesOnADevice) {
  const InferenceOptions any = named(GraphFormat::automatic);
  EXPECT_EQ(sums_by_planes(levels(2), long_rows, any), 1) << "the last layer's sum has seven columns";
  EXPECT_EQ(sums_by_planes(levels(4), long_rows, any), 0);
  EXPECT_EQ(sums_by_planes(levels(2), {.nodes = 100000, .entries = 2000000}, any), 0) << "making planes would not pay";
  InferenceOptions limited = any;
  limited.memory = 1 << 30;
  EXPECT_EQ(sums_by_planes(levels(2), long_rows, limited), 0) << "planes take memory";
  Program program = levels(2);
  choose_graph_forms(program, {.options = any, .graph = long_rows});
  EXPECT_TRUE(std::ranges::none_of(program.operators, [&](const Operator& op) { return adds_planes(program, op); }))
      << "the host has no use for them";
  program.operators.back().outputs.push_back(program.add_value(program.value(program.result)));
  bitgraph::test::expect_error_with([&] { program.validate(); }, ErrorCode::usage,
                                    "has a second output that is not memory of a sum");
}

}  // namespace
}  // namespace bitgraph::nn
