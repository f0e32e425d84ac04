// SPDX-License-Identifier: Apache-2.0
#include "nn/one_launch/row_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace bitgraph::nn {
namespace {

std::vector<EdgeOffset> row_ptr_of(const std::vector<std::size_t>& degrees) {
  std::vector<EdgeOffset> row_ptr{0};
  for (const std::size_t d : degrees) row_ptr.push_back(row_ptr.back() + d);
  return row_ptr;
}

/// Each row is somebody's, and a team is in one slot of neighbouring warps of a block, with a barrier of its own.
void expect_sound(const std::vector<std::size_t>& degrees, unsigned blocks) {
  const Placement made = place_rows(row_ptr_of(degrees), blocks);
  ASSERT_LE(made.blocks, blocks);
  ASSERT_LE(made.warps, most_block_warps);
  ASSERT_EQ(made.places.size(), std::size_t{made.slots} * made.warps * made.blocks);
  std::vector<int> firsts(degrees.size(), 0);
  std::map<std::pair<std::size_t, int>, NodeId> teams;
  for (std::size_t at = 0; at < made.places.size(); ++at) {
    const Place& p = made.places[at];
    if (p.row == no_row) continue;
    ASSERT_LT(p.row, degrees.size());
    ASSERT_LT(p.rank, p.size);
    firsts[p.row] += p.rank == 0 ? 1 : 0;
    if (p.size == 1) continue;
    ASSERT_LT(at, std::size_t{made.warps} * made.blocks) << "teams are in the first slot";
    ASSERT_GE(p.barrier, 1);
    ASSERT_LE(p.barrier, 15);
    const auto [known, fresh] = teams.try_emplace({at % made.blocks, p.barrier}, p.row);
    ASSERT_EQ(known->second, p.row);
    ASSERT_EQ(fresh, p.rank == 0);
    ASSERT_TRUE(p.rank == 0 || made.places[at - made.blocks].rank + 1 == p.rank);
    ASSERT_TRUE(p.rank + 1 == p.size || made.places[at + made.blocks].row == p.row);
  }
  EXPECT_TRUE(std::all_of(firsts.begin(), firsts.end(), [](int n) { return n == 1; }));
}

TEST(RowProgram, EveryRowHasAPlace) {
  expect_sound({}, 132);
  expect_sound({5}, 132);
  expect_sound({5000}, 132);
  expect_sound(std::vector<std::size_t>(133, 40), 132);
  expect_sound(std::vector<std::size_t>(9000, 33), 132);
  expect_sound(std::vector<std::size_t>(100, 100), 1);
  std::vector<std::size_t> skewed(4000, 3);
  for (std::size_t i = 0; i < skewed.size(); i += 13) skewed[i] = 40000 / (i + 1);
  expect_sound(skewed, 132);
  expect_sound(skewed, 7);
}

TEST(RowProgram, HubsAreShared) {
  std::vector<std::size_t> degrees(300, 4);
  degrees[7] = 168;
  const Placement made = place_rows(row_ptr_of(degrees), 132);
  EXPECT_EQ(std::count_if(made.places.begin(), made.places.end(), [](const Place& p) { return p.row == 7; }), 6);
}

/// Memory that nobody looks into.
struct Memory {
  std::vector<float> floats = std::vector<float>(16);
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(16);
  std::vector<EdgeOffset> row_ptr = std::vector<EdgeOffset>(16);
};

LaunchStep bits_step(LaunchStep::Kind kind, std::uint32_t in, std::uint32_t out) {
  return {.kind = kind, .in_width = 64, .out_width = 64, .in = in, .out = out, .makes_bits = true};
}

LaunchStep product_of(const std::uint64_t* features, std::uint32_t out) {
  LaunchStep s = bits_step(LaunchStep::Kind::product, no_matrix, out);
  s.bits_in = features;
  return s;
}

TEST(RowProgram, OnlyWhatOthersReadIsPublished) {
  Memory m;
  LaunchSteps all{.steps = {}, .num_rows = 10, .result = 3, .result_data = m.floats.data()};
  all.steps.push_back(product_of(m.words.data(), 1));
  all.steps.push_back(bits_step(LaunchStep::Kind::vote, 1, 2));
  all.steps.back().row_ptr = m.row_ptr.data();
  all.steps.push_back(product_of(m.words.data(), 1));
  all.steps.push_back(bits_step(LaunchStep::Kind::either, 1, 2));
  all.steps.push_back({.kind = LaunchStep::Kind::product, .in_width = 64, .out_width = 7, .in = 2, .out = 3});
  const auto program = row_program(all);
  ASSERT_TRUE(program);
  ASSERT_EQ(program->steps.size(), 5U);
  EXPECT_EQ(program->steps[1].kind, LaunchStep::Kind::product) << "the second product does not wait for neighbours";
  EXPECT_EQ(program->steps[2].kind, LaunchStep::Kind::vote);
  EXPECT_NE(program->steps[0].published, not_kept);
  EXPECT_EQ(program->steps[2].gathered, program->steps[0].published);
  EXPECT_EQ(program->steps[1].published, not_kept);
  EXPECT_EQ(program->steps[0].out, not_kept);
  EXPECT_EQ(program->steps[4].floats_out, m.floats.data());
  EXPECT_EQ(program->exchange_words, 20U);
}

/// Entries times W, a sum over neighbours, a product of what the row keeps, another sum: floats.
LaunchSteps two_layers_of_levels(const Memory& m, const std::uint16_t* entries) {
  using Kind = LaunchStep::Kind;
  LaunchSteps all{.steps = {}, .num_rows = 10, .result = 4, .result_data = nullptr};
  const auto add = [&](Kind kind, std::size_t in_width, std::size_t out_width, int out_bits) {
    LaunchStep& s = all.steps.emplace_back(LaunchStep{.kind = kind, .in_width = in_width, .out_width = out_width});
    s.in = static_cast<std::uint32_t>(all.steps.size() - 1);
    s.out = static_cast<std::uint32_t>(all.steps.size());
    s.row_ptr = kind == Kind::level_sum || all.steps.size() == 1 ? m.row_ptr.data() : nullptr;
    s.level.out_bits = out_bits;
  };
  add(Kind::level_product, 100, 64, 4);
  all.steps.back().level.entries = entries;
  add(Kind::level_sum, 64, 64, 4);
  add(Kind::level_product, 64, 7, 8);
  add(Kind::level_sum, 7, 7, 0);
  return all;
}

TEST(RowProgram, LevelsAreToldFourInAWord) {
  Memory m;
  const std::vector<std::uint16_t> entries(4);
  LaunchSteps all = two_layers_of_levels(m, entries.data());
  all.result_data = m.floats.data();
  const auto program = row_program(all);
  ASSERT_TRUE(program);
  EXPECT_EQ(program->steps[1].gathered, program->steps[0].published);
  EXPECT_EQ(program->steps[0].out, not_kept);
  EXPECT_EQ(program->steps[2].in, program->steps[1].out);
  EXPECT_EQ(program->steps[3].floats_out, m.floats.data());
  EXPECT_EQ(program->exchange_words, 10U * (16 + 2));
  EXPECT_EQ(program->row_words, 8U);
}

TEST(RowProgram, FloatsOfLevelsAreTheResultOnly) {
  Memory m;
  const std::vector<std::uint16_t> entries(4);
  LaunchSteps all = two_layers_of_levels(m, entries.data());
  all.steps[1].level.out_bits = 0;  // a product of levels reads it
  EXPECT_FALSE(row_program(all));
  all = two_layers_of_levels(m, entries.data());
  all.steps[2].level.out_bits = 0;  // a sum of levels reads it
  EXPECT_FALSE(row_program(all));
  all = two_layers_of_levels(m, entries.data());
  all.steps[3].kind = LaunchStep::Kind::sum;  // a sum of floats reads levels
  EXPECT_FALSE(row_program(all));
  all = two_layers_of_levels(m, nullptr);  // levels that are nowhere
  EXPECT_FALSE(row_program(all));
}

TEST(RowProgram, RefusesWhatItCannotRun) {
  Memory m;
  LaunchSteps all{.steps = {}, .num_rows = 10, .result = 3, .result_data = m.floats.data()};
  EXPECT_FALSE(row_program(all));
  all.steps.push_back(bits_step(LaunchStep::Kind::vote, 1, 2));  // of bits that no step made
  EXPECT_FALSE(row_program(all));
  all.steps.assign(most_row_steps + 1, product_of(m.words.data(), 1));
  EXPECT_FALSE(row_program(all));
  all.steps.assign(1, bits_step(LaunchStep::Kind::product, 1, 2));  // of bits that are nowhere
  EXPECT_FALSE(row_program(all));
}

}  // namespace
}  // namespace bitgraph::nn
