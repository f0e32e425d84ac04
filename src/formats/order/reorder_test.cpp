// SPDX-License-Identifier: Apache-2.0
#include "support/entry_sets.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/reorder.hpp>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace bitgraph {
namespace {

using Ids = std::vector<NodeId>;

constexpr std::array orders{Order::original, Order::degree, Order::reverse_cuthill_mckee, Order::community};

Ids ids(const CsrPattern& a, Order order) {
  const Buffer<NodeId> new_id = reorder(a, order);
  return {new_id.begin(), new_id.end()};
}

Ids random_permutation(NodeId n, std::uint64_t seed) {
  Ids p(n);
  std::iota(p.begin(), p.end(), NodeId{0});
  for (NodeId i = n; i > 1; --i) std::swap(p[i - 1], p[random_below({seed, 6, 0}, i, i)]);
  return p;
}

std::size_t bandwidth(const CsrPattern& a) {
  std::size_t widest = 0;
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (const NodeId j : a.row(i)) widest = std::max<std::size_t>(widest, i < j ? j - i : i - j);
  }
  return widest;
}

TEST(Reorder, NamesThereAndBack) {
  for (const Order order : orders) EXPECT_EQ(order_from_string(to_string(order)), order);
  EXPECT_EQ(to_string(Order::reverse_cuthill_mckee), "rcm");
  EXPECT_THROW((void)order_from_string("hilbert"), Error);
}

TEST(Reorder, EveryOrderIsAPermutation) {
  EXPECT_TRUE(rc::check("of any square pattern", [] {
    const CsrPattern a = test::csr_of(test::arbitrary_square());
    for (const Order order : orders) {
      Ids new_id = ids(a, order);
      const Buffer<NodeId> old_id = inverse_permutation(new_id);
      for (NodeId i = 0; i < a.nrows(); ++i) RC_ASSERT(old_id[new_id[i]] == i);
      RC_ASSERT(permuted(permuted(a, new_id), old_id.span()) == a);
      std::sort(new_id.begin(), new_id.end());
      for (NodeId i = 0; i < a.nrows(); ++i) RC_ASSERT(new_id[i] == i);
    }
  }));
}

TEST(Reorder, DirectionsDoNotMatter) {
  EXPECT_TRUE(rc::check("a directed graph is read as undirected", [] {
    const CsrPattern a = test::csr_of(test::arbitrary_square());
    for (const Order order : orders) RC_ASSERT(ids(a, order) == ids(symmetrized(a), order));
  }));
}

TEST(Reorder, DegreesFallAndTiesKeepTheirOrder) {
  const CsrPattern a = test::rmat_pattern(10, 5000, 1);
  const Buffer<NodeId> old_id = inverse_permutation(reorder(a, Order::degree).span());
  for (NodeId position = 1; position < a.nrows(); ++position) {
    const NodeId before = old_id[position - 1];
    const NodeId node = old_id[position];
    const std::size_t more = a.row(before).size();
    const std::size_t less = a.row(node).size();
    EXPECT_TRUE(more > less || (more == less && before < node)) << position;
  }
}

TEST(Reorder, CuthillMckeeFollowsAPath) {
  // A path numbered at random comes back in line, from one end to the other.
  const NodeId n = 1000;
  const CsrPattern path = permuted(test::grid_pattern(n, 1), random_permutation(n, 1));
  EXPECT_EQ(bandwidth(permuted(path, ids(path, Order::reverse_cuthill_mckee))), 1U);
}

TEST(Reorder, CuthillMckeeByHand) {
  // 0 - 1 - 2 - 3 with leaves 4 and 5 at 1: from the end 3 (least degree, farthest), neighbours by rising degree,
  // then reversed. Levels from a leaf of 1: {0}, {1}, {2, 4, 5}, {3}; from 3: {3}, {2}, {1}, {0, 4, 5}.
  const Ids rows{0, 1, 2, 1, 1};
  const Ids cols{1, 2, 3, 4, 5};
  const CsrPattern a = csr_from_edges(6, 6, rows, cols, {.symmetrize = true});
  EXPECT_EQ(ids(a, Order::reverse_cuthill_mckee), (Ids{2, 3, 4, 5, 1, 0}));
}

TEST(Reorder, ShuffledGridsGetTheirBytesBack) {
  const CsrPattern grid = test::grid_pattern(120, 100);
  const CsrPattern shuffled = permuted(grid, random_permutation(grid.nrows(), 2));
  const auto bytes = [](const CsrPattern& a) { return b2sr_bytes(a.nrows(), count_tiles(a, 8), 8); };
  const std::size_t before = bytes(shuffled);
  EXPECT_LT(2 * bytes(permuted(shuffled, ids(shuffled, Order::reverse_cuthill_mckee))), before);
  EXPECT_LT(2 * bytes(permuted(shuffled, ids(shuffled, Order::community))), before);
  EXPECT_LE(bandwidth(permuted(shuffled, ids(shuffled, Order::reverse_cuthill_mckee))), 202U);
}

TEST(Reorder, PlantedCommunitiesAreLaidTogether) {
  // 50 cliques of 40 nodes, a few ties between them, numbered at random.
  const NodeId size = 40;
  const NodeId n = 50 * size;
  Ids rows;
  Ids cols;
  for (NodeId i = 0; i < n; ++i) {
    for (NodeId j = i + 1; j < (i / size + 1) * size; ++j) rows.push_back(i), cols.push_back(j);
    rows.push_back(i);
    cols.push_back(static_cast<NodeId>(random_below({3, 7, 0}, i, n)));
  }
  const CsrPattern planted = csr_from_edges(n, n, rows, cols, {.symmetrize = true, .drop_loops = true});
  const CsrPattern shuffled = permuted(planted, random_permutation(n, 3));
  const CsrPattern found = permuted(shuffled, ids(shuffled, Order::community));
  EXPECT_LT(static_cast<double>(count_tiles(found, 8)), 1.5 * static_cast<double>(count_tiles(planted, 8)));
  EXPECT_GT(static_cast<double>(count_tiles(shuffled, 8)), 5 * static_cast<double>(count_tiles(planted, 8)));
}

TEST(Reorder, NothingDependsOnTheThreads) {
  for (const Order order : orders) {
    const Ids skewed = ids(test::rmat_pattern(12, 30000, 9, Device::host(1)), order);
    const Ids directed = ids(test::random_pattern(5000, 5000, 0.001, 9, Device::host(1)), order);
    for (const int threads : {2, 5}) {
      EXPECT_EQ(ids(test::rmat_pattern(12, 30000, 9, Device::host(threads)), order), skewed);
      EXPECT_EQ(ids(test::random_pattern(5000, 5000, 0.001, 9, Device::host(threads)), order), directed);
    }
  }
}

TEST(Reorder, RefusesWhatMakesNoSense) {
  for (const Order order : orders) EXPECT_THROW((void)reorder(csr_from_edges(2, 3, {}, {}), order), Error);
  EXPECT_THROW((void)inverse_permutation(Ids{0, 2}), Error);
  EXPECT_THROW((void)inverse_permutation(Ids{0, 0}), Error);
}

}  // namespace
}  // namespace bitgraph
