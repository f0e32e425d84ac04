// SPDX-License-Identifier: Apache-2.0
// Products over rows with more entries than a lane of 16 bits counts, and pushes whose parts meet within a word.
#include <bitgraph/ops/mxv.hpp>

#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

/// nrows x ncols, every entry.
CsrPattern all_ones(NodeId nrows, NodeId ncols) {
  Buffer<EdgeOffset> row_ptr(std::size_t{nrows} + 1);
  Buffer<NodeId> col_ind(std::size_t{nrows} * ncols);
  for (NodeId i = 0; i <= nrows; ++i) row_ptr[i] = EdgeOffset{i} * ncols;
  for (NodeId i = 0; i < nrows; ++i) std::iota(col_ind.data() + row_ptr[i], col_ind.data() + row_ptr[i + 1], NodeId{0});
  return {nrows, ncols, std::move(row_ptr), std::move(col_ind)};
}

TEST(MxvCounters, CountMoreEntriesThanALaneOf16Bits) {
  const NodeId columns = 140000;  // above 2 x 65,536: a lane that wraps twice is seen too
  const CsrPattern a = all_ones(34, columns);
  BitVector some(columns);
  BitVector all(columns);  // a tile adds its whole side to a lane
  for (NodeId j = 0; j < columns; ++j) {
    some.set_bit(j, j % 7 != 3);
    all.set_bit(j, true);
  }
  for (const int k : tile_dims) {
    const BitTileMatrix tiles = pack(a, {.tile_dim = k});
    for (const Isa isa : available_isas()) {
      const ScopedIsa scope(isa);
      SCOPED_TRACE(std::string(to_string(isa)) + ", tile side " + std::to_string(k));
      for (const std::int32_t count : mxv<std::int32_t>(plus_times, tiles, some))
        ASSERT_EQ(count, columns - columns / 7);
      for (const std::int32_t count : mxv<std::int32_t>(plus_times, tiles, all)) ASSERT_EQ(count, columns);
    }
  }
}

TEST(MxvCounters, ManyActiveRowsPushIntoWordsThatThreadsShare) {
  const NodeId n = 20000;
  // Columns close together: the parts of two threads begin within a word unless they are cut at its border.
  for (const NodeId ncols : {NodeId{70}, NodeId{130}, NodeId{1000}, n}) {
    const CsrPattern a = test::random_pattern(n, ncols, 4.0 / ncols, 7);
    BitVector x(n);
    for (NodeId i = 0; i < n; ++i) x.set_bit(i, i % 5 != 0);  // 16,000
    std::vector<bool> expected(ncols);
    std::vector<std::int32_t> counts(ncols);
    for (NodeId i = 0; i < n; ++i) {
      for (const NodeId j : a.row(i)) {
        if (!x.bit(i)) continue;
        expected[j] = true;
        ++counts[j];
      }
    }
    test::with_thread_counts([&](const Device& device) {
      const CsrPattern here = a.to(device);
      const BitVector from = x.to(device);
      BitVector bits(ncols, device);
      vxm_into(bits, or_and, from, here, {.replace = true});
      Buffer<std::int32_t> sums(ncols, 0, device);
      vxm_into(sums, plus_times, from, here, {.replace = true});
      for (NodeId j = 0; j < ncols; ++j) {
        ASSERT_EQ(bits.bit(j), expected[j]) << ncols << " columns, column " << j;
        ASSERT_EQ(sums[j], counts[j]) << ncols << " columns, column " << j;
      }
    });
  }
}

}  // namespace
}  // namespace bitgraph
