// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/csr_pattern.hpp>

#include <bitgraph/core/random.hpp>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

struct List {
  NodeId nrows = 0;
  NodeId ncols = 0;
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
};

List random_list(NodeId nrows, NodeId ncols, std::size_t size, std::uint64_t seed) {
  List list{nrows, ncols, std::vector<NodeId>(size), std::vector<NodeId>(size)};
  for (std::size_t e = 0; e < size; ++e) {
    list.rows[e] = static_cast<NodeId>(random_below({seed, 1, 0}, e, nrows));
    list.cols[e] = static_cast<NodeId>(random_below({seed, 2, 0}, e, ncols));
  }
  return list;
}

/// The definition: a set of pairs.
void expect_same(const CsrPattern& a, const List& list, const EdgeListOptions& options) {
  std::set<std::pair<NodeId, NodeId>> entries;
  for (std::size_t e = 0; e < list.rows.size(); ++e) {
    const NodeId i = list.rows[e];
    const NodeId j = list.cols[e];
    if (i == j && options.drop_loops) continue;
    entries.emplace(i, j);
    if (options.symmetrize) entries.emplace(j, i);
  }
  a.validate();
  ASSERT_EQ(a.nrows(), list.nrows);
  ASSERT_EQ(a.ncols(), list.ncols);
  ASSERT_EQ(a.nvals(), entries.size());
  auto entry = entries.begin();
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (const NodeId j : a.row(i)) ASSERT_EQ(*entry++, std::make_pair(i, j));
  }
}

void check_all_options(const List& list) {
  for (const bool symmetrize : {false, true}) {
    if (symmetrize && list.nrows != list.ncols) continue;
    for (const bool drop_loops : {false, true}) {
      for (const int threads : {1, 3}) {
        const EdgeListOptions options{.symmetrize = symmetrize, .drop_loops = drop_loops};
        expect_same(csr_from_edges(list.nrows, list.ncols, list.rows, list.cols, options, Device::host(threads)), list,
                    options);
      }
    }
  }
}

TEST(CsrFromEdges, IsTheSetOfPairs) {
  EXPECT_TRUE(rc::check([] {
    const auto nrows = *rc::gen::inRange<NodeId>(1, 70);
    const auto ncols = *rc::gen::elementOf(std::vector<NodeId>{nrows, nrows, 1, 64, 65});
    const auto size = *rc::gen::inRange<std::size_t>(0, 400);
    check_all_options(random_list(nrows, ncols, size, *rc::gen::arbitrary<std::uint64_t>()));
  }));
}

TEST(CsrFromEdges, FewRowsHaveNearlyAllEntries) {
  for (const NodeId nrows : {3U, 700U, 5000U}) {
    List list = random_list(nrows, nrows, 20000, nrows);
    for (std::size_t e = 0; e < list.rows.size(); ++e) {
      if (e % 10 != 0) list.rows[e] %= 3;  // the bucket of these is sorted without room of its own
    }
    check_all_options(list);
  }
}

TEST(CsrFromEdges, RowsOfEveryBucketSize) {
  check_all_options(random_list(511, 511, 30000, 1));        // a row a bucket
  check_all_options(random_list(513, 513, 30000, 2));        // two rows a bucket, the last one half full
  check_all_options(random_list(131072, 30, 20000, 3));      // one byte says the row within the bucket
  check_all_options(random_list(131073, 131073, 20000, 4));  // two bytes
  check_all_options(random_list(2, 1000000, 20000, 5));      // long rows
}

TEST(CsrFromEdges, MoreRowsThanTwoBytesTell) {
  const NodeId nrows = (NodeId{512} << 16) + 1;
  const List list{nrows, 3, {nrows - 1, 0, 65536, 131072, 131072}, {2, 1, 0, 2, 1}};
  const CsrPattern a = csr_from_edges(list.nrows, list.ncols, list.rows, list.cols, {}, Device::host(2));
  EXPECT_EQ(a.nvals(), 5);
  EXPECT_EQ(a.row(0)[0], 1);
  EXPECT_EQ(a.row(65536)[0], 0);
  EXPECT_EQ(a.row(131072)[0], 1);
  EXPECT_EQ(a.row(131072)[1], 2);
  EXPECT_EQ(a.row(nrows - 1)[0], 2);
}

TEST(CsrFromEdges, FewAndManyDuplicates) {
  List few = random_list(3000, 3000, 20000, 7);
  few.rows.push_back(few.rows[0]);
  few.cols.push_back(few.cols[0]);
  check_all_options(few);
  check_all_options(random_list(50, 40, 50000, 7));
  check_all_options({1, 1, std::vector<NodeId>(100, 0), std::vector<NodeId>(100, 0)});
}

TEST(CsrFromEdges, NoRowsNoEdges) {
  check_all_options({0, 0, {}, {}});
  check_all_options({5000, 3, {}, {}});
}

TEST(CsrFromEdges, RefusesWhatIsOutside) {
  const std::vector<NodeId> one{0};
  const std::vector<NodeId> five{5};
  const std::vector<NodeId> none;
  EXPECT_THROW((void)csr_from_edges(5, 6, five, one), Error);
  EXPECT_THROW((void)csr_from_edges(6, 5, one, five), Error);
  EXPECT_THROW((void)csr_from_edges(6, 6, one, none), Error);
  EXPECT_THROW((void)csr_from_edges(6, 7, one, one, {.symmetrize = true}), Error);
  EXPECT_THROW((void)csr_from_edges(0, 0, one, one), Error);
  EXPECT_THROW((void)csr_from_edges(5, 5, five, five, {.drop_loops = true}), Error);
}

TEST(CsrFromEdges, NeedsAQuarterMoreThanItsResult) {
  const Device device = Device::host(2);
  const List list = random_list(100000, 100000, 2000000, 8);
  const CsrPattern a = csr_from_edges(list.nrows, list.ncols, list.rows, list.cols, {}, device);
  EXPECT_LE(static_cast<double>(device.memory().peak), 1.25 * static_cast<double>(a.bytes()) + 65536);
}

}  // namespace
}  // namespace bitgraph
