// SPDX-License-Identifier: Apache-2.0
#include "ops/mxv/mxv_cases.hpp"
#include "support/everywhere.hpp"

#include <bitgraph/ops/mxv_with.hpp>

#include <gtest/gtest.h>

#include <utility>

namespace bitgraph {
namespace {

/// The two largest values: a type and an addition that the library does not have.
struct TopTwo {
  std::uint16_t first = 0, second = 0;
  friend bool operator==(const TopTwo&, const TopTwo&) = default;
};

struct KeepTopTwo {
  template <class T>
  static T identity() {
    return {};
  }
  template <class T>
  static T add(T a, T b) {
    if (a.first < b.first) std::swap(a, b);
    return {a.first, std::max(a.second, b.first)};
  }
  template <class T>
  static T multiply(T x) {
    return {x.first, 0};
  }
};
static_assert(SemiringOver<KeepTopTwo, TopTwo>);

template <class Graph>
void expect_top_two(const Graph& a, const CsrPattern& pattern, const Buffer<TopTwo>& x, const MxvOptions& options) {
  const TopTwo before{5, 3};
  Buffer<TopTwo> out(a.nrows(), before);
  mxv_with(out, KeepTopTwo{}, a, x, options);
  for (NodeId i = 0; i < a.nrows(); ++i) {
    std::vector<std::uint16_t> seen{0, 0};
    for (const NodeId j : pattern.row(i)) seen.push_back(x[j].first);
    if (options.accumulate) seen.insert(seen.end(), {before.first, before.second});
    std::sort(seen.rbegin(), seen.rend());
    const bool selected = options.mask.bits == nullptr || options.mask.bits->bit(i) != options.mask.complement;
    const TopTwo unselected = options.replace ? TopTwo{} : before;
    const TopTwo expected = selected ? TopTwo{seen[0], seen[1]} : unselected;
    ASSERT_TRUE(out[i] == expected) << "row " << i << ": " << out[i].first << ", " << out[i].second;
  }
}

TEST(MxvWith, ASemiringOfOnesOwn) {
  for (const test::MxvCase& c : test::mxv_cases()) {
    SCOPED_TRACE(c.name);
    Buffer<TopTwo> x(c.a->ncols());
    for (std::size_t j = 0; j < x.size(); ++j)
      x[j].first = static_cast<std::uint16_t>(random_below({1, 0, 0}, j, 60000));
    const BitVector mask = test::random_vector_bits(c.a->nrows(), 0.3, 2);
    test::with_thread_counts([&](const Device& device) {
      const CsrPattern a = c.a->to(device);
      for (const MxvOptions& options :
           {MxvOptions{}, MxvOptions{.mask = mask, .accumulate = true}, MxvOptions{.mask = ~mask, .replace = true}}) {
        expect_top_two(a, c.a, x, options);
        for (const int k : tile_dims) expect_top_two(pack(a, {.tile_dim = k}, device), c.a, x, options);
      }
    });
  }
}

TEST(MxvWith, TheLibrarysSemiringsOverOtherTypes) {
  const CsrPattern a = test::random_pattern(90, 70, 0.1, 1);
  const auto x = test::random_values<std::int32_t>(70, unreached<std::int32_t>(), 1);
  Buffer<std::int64_t> wide(70);
  for (std::size_t j = 0; j < 70; ++j) wide[j] = x[j] == unreached<std::int32_t>() ? unreached<std::int64_t>() : x[j];
  Buffer<std::int64_t> out(90);
  mxv_with(out, min_plus, a, wide);
  const Buffer<std::int32_t> expected = mxv(min_plus, a, x);
  for (std::size_t i = 0; i < 90; ++i) {
    EXPECT_EQ(out[i], expected[i] == unreached<std::int32_t>() ? unreached<std::int64_t>() : expected[i]);
  }
}

TEST(MxvWith, SizesThatDoNotFitAreNamed) {
  const CsrPattern a = test::random_pattern(4, 5, 0.5, 1);
  Buffer<double> out(4);
  test::expect_usage_error([&] { mxv_with(out, plus_times, a, Buffer<double>(6)); },
                           "A is 4 x 5, x has 6 elements, the output 4");
}

}  // namespace
}  // namespace bitgraph
