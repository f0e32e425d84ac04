// SPDX-License-Identifier: Apache-2.0
#include "nn/program/passes/pass_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace bitgraph::nn {
namespace {

/// When a value is needed: from the operator that makes it to the last that reads it.
struct Life {
  std::size_t first, last;
};

Life life_of(const Program& program, ValueId v) {
  Life life{program.producer(v), program.producer(v)};
  for (std::size_t n = 0; n < program.operators.size(); ++n) {
    const auto& in = program.operators[n].inputs;
    if (std::find(in.begin(), in.end(), v) != in.end()) life.last = n;
  }
  if (v == program.result) life.last = program.operators.size();
  return life;
}

/// No byte is two values' at once, unless one takes the other's place on purpose.
void expect_sound(const Program& program, const Layout& layout, std::size_t nodes) {
  for (ValueId a = 0; a < program.values.size(); ++a) {
    if (a == program.features) {
      EXPECT_EQ(layout.offset[a], Layout::nowhere);
      continue;
    }
    const std::size_t a_end = layout.offset[a] + program.value(a).bytes(nodes);
    EXPECT_LE(a_end, layout.bytes);
    EXPECT_EQ(layout.offset[a] % 256, 0U);
    for (ValueId b = a + 1; b < program.values.size(); ++b) {
      if (b == program.features || layout.owner[a] == layout.owner[b]) continue;
      const Life x = life_of(program, a);
      const Life y = life_of(program, b);
      if (x.last < y.first || y.last < x.first) continue;
      const std::size_t b_end = layout.offset[b] + program.value(b).bytes(nodes);
      EXPECT_TRUE(a_end <= layout.offset[b] || b_end <= layout.offset[a]) << '%' << a << " and %" << b;
    }
  }
}

TEST(PlacePass, LetsValuesThatNeverMeetShareTheirBytes) {
  const Program program = test::two_layers(Aggregation::symmetric, false);
  const Layout layout = place(program, 1000);
  expect_sound(program, layout, 1000);
  // %1 = MM, %2 = sum, %3 = RELU in place of %2, %4 = MM, %5 = sum.
  EXPECT_EQ(layout.owner[3], 2U);
  EXPECT_EQ(layout.offset[4], layout.offset[1]) << "the product before is read by nobody any more";
  const std::size_t wide = 1000 * 64 * sizeof(float);
  EXPECT_LT(layout.bytes, 2 * wide + 1000);
  const Layout apart = place(program, 1000, false);
  EXPECT_GE(apart.bytes, 3 * wide);
  for (ValueId v = 0; v < program.values.size(); ++v) EXPECT_EQ(apart.owner[v], v);
}

TEST(PlacePass, AddsInPlaceOnlyWhereNobodyReadsTheInputLater) {
  ProgramBuilder build(8);
  const ValueId x = build.product(build.features(), WeightOf::neighbor, 8);
  const ValueId y = build.product(build.features(), WeightOf::root, 8);
  const ValueId first = build.add(x, y);
  const ValueId second = build.add(x, first);
  const Program program = build.finish(second);
  const Layout layout = place(program, 10);
  expect_sound(program, layout, 10);
  EXPECT_EQ(layout.owner[first], first) << "x is read once more";
  EXPECT_EQ(layout.owner[second], x);
}

TEST(PlacePass, IsSoundForEveryNetworkAndForm) {
  for (const Aggregation aggregation : {Aggregation::symmetric, Aggregation::mean_with_self, Aggregation::mean}) {
    for (const bool root : {false, true}) {
      for (const bool concatenates : {false, true}) {
        for (const Precision form : {Precision::real, Precision::full, Precision::bin}) {
          std::vector<Precision> of_layers(concatenates ? 3 : 2, form);
          of_layers.back() = form.of_last_layer();
          const InferenceOptions options = test::forms(of_layers);
          for (const bool on_host : {false, true}) {
            const PassContext context{.options = options, .graph = test::large_graph(), .on_host = on_host};
            const Compiled made = compile(test::two_layers(aggregation, root, concatenates), context, 1, false);
            SCOPED_TRACE(to_text(made.program));
            expect_sound(made.program, place(made.program, 1000), 1000);
          }
        }
      }
    }
  }
}

TEST(PlacePass, OfAGraphWithoutNodesTakesNoMemory) {
  EXPECT_EQ(place(test::two_layers(Aggregation::symmetric, false), 0).bytes, 0U);
}

}  // namespace
}  // namespace bitgraph::nn
