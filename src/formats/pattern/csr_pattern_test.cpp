// SPDX-License-Identifier: Apache-2.0
#include "formats/pattern/csr_chunks.hpp"
#include "support/cuda_device.hpp"
#include "support/entry_sets.hpp"
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/reorder.hpp>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

using Ids = std::vector<NodeId>;
using Offsets = std::vector<EdgeOffset>;

CsrPattern raw(NodeId nrows, NodeId ncols, const Offsets& row_ptr, const Ids& col_ind) {
  return {nrows, ncols, Buffer<EdgeOffset>::copy_of(row_ptr), Buffer<NodeId>::copy_of(col_ind)};
}

template <class Fn>
void expect_error(ErrorCode code, const std::string& part, Fn&& fn) {
  try {
    fn();
    FAIL() << "no error; expected one with: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(CsrPattern, EmptyOnes) {
  const CsrPattern nothing;
  EXPECT_EQ(nothing.nrows(), 0U);
  EXPECT_EQ(nothing.nvals(), 0U);
  EXPECT_EQ(nothing.bytes(), 8U);
  EXPECT_NO_THROW(nothing.validate());
  const CsrPattern wide = csr_from_edges(0, 9, {}, {});
  EXPECT_NO_THROW(wide.validate());
  EXPECT_EQ(transpose(wide).nrows(), 9U);
  EXPECT_EQ(transpose(wide).nvals(), 0U);
  EXPECT_TRUE(is_symmetric(nothing));
  EXPECT_EQ(with_self_loops(nothing).nvals(), 0U);
  EXPECT_EQ(permuted(nothing, {}).nrows(), 0U);
}

TEST(CsrPattern, BytesAreThoseOfTheArrays) {
  EXPECT_EQ(raw(3, 5, {0, 2, 2, 4}, {0, 4, 1, 2}).bytes(), 4 * 8U + 4 * 4U);
  EXPECT_EQ(csr_float32_bytes(3, 4), 4 * 4U + 4 * 8U);
  const EdgeOffset large = EdgeOffset{1} << 31;
  EXPECT_EQ(csr_float32_bytes(3, large - 1), 4 * 4U + (large - 1) * 8);
  EXPECT_EQ(csr_float32_bytes(3, large), 4 * 8U + large * 8);
  EXPECT_EQ(csr_float32_bytes(4294967295U, 0), 4 * 4294967296U);
}

TEST(CsrPattern, AnIdIsOneOfItsOwnAndGoesAlong) {
  CsrPattern a = raw(2, 3, {0, 2, 3}, {0, 2, 1});
  const std::uint64_t id = a.id();
  EXPECT_NE(CsrPattern().id(), id);
  EXPECT_NE(a.clone().id(), id);
  EXPECT_TRUE(a.clone() == a);
  const CsrPattern moved = std::move(a);
  EXPECT_EQ(moved.id(), id);
}

/// Rows as long as chunks, empty ones at both ends, none at all.
std::vector<Ids> lengths_around_chunks() {
  return {{}, {0}, {1}, {511}, {512}, {0, 511, 0, 0}, {511, 511, 512, 1}, {2000}, Ids(1023, 0), Ids(700, 3)};
}

TEST(CsrPattern, ChunksMadeOnTheHostAreThoseOfADevice) {
  for (const Ids& lengths : lengths_around_chunks()) {
    const auto nrows = static_cast<NodeId>(lengths.size());
    Offsets row_ptr(1, 0);
    Ids col_ind;
    for (const NodeId length : lengths) {
      for (NodeId j = 0; j < length; ++j) col_ind.push_back(j);
      row_ptr.push_back(col_ind.size());
    }
    Ids chunk_row(csr_chunk_bounds(nrows, col_ind.size()), 77);
    const EdgeOffset longest = csr_chunks_into(chunk_row, row_ptr);
    EXPECT_EQ(longest, lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end()));
    // Item by item: of each row its entries, then its end. Chunk c begins at item c * csr_chunk_items.
    Ids row_of_item;
    for (NodeId i = 0; i < nrows; ++i) row_of_item.insert(row_of_item.end(), lengths[i] + std::size_t{1}, i);
    row_of_item.push_back(nrows);
    for (std::size_t c = 0; c < chunk_row.size(); ++c)
      ASSERT_EQ(chunk_row[c], row_of_item[std::min<std::size_t>(c * csr_chunk_items, row_of_item.size() - 1)]) << c;
    if (!test::cuda_device()) continue;
    const Device& device = *test::cuda_device();
    const CsrPattern there = raw(nrows, 2000, row_ptr, col_ind).to(device);
    const CsrPattern known(nrows, 2000, Buffer<EdgeOffset>::copy_of(row_ptr, device),
                           Buffer<NodeId>::copy_of(col_ind, device), Buffer<NodeId>::copy_of(chunk_row, device),
                           longest, trusted);
    ASSERT_EQ(there.view().num_chunks, known.view().num_chunks);
    EXPECT_EQ(there.view().longest_row, longest);
    Ids found(chunk_row.size());
    Device::copy(found.data(), {}, there.view().chunk_row, device, found.size() * sizeof(NodeId));
    EXPECT_EQ(found, chunk_row);
    EXPECT_TRUE(known.to(Device{}) == there.to(Device{}));
  }
}

TEST(CsrPattern, ConstructorChecksSizes) {
  expect_error(ErrorCode::usage, "do not fit", [] {
    CsrPattern(1, 3, Buffer<EdgeOffset>{0, 1}, Buffer<NodeId>{0}, Buffer<NodeId>{0, 1, 1}, 1, trusted);
  });
  expect_error(ErrorCode::usage, "do not fit", [] { raw(3, 3, {0, 1}, {0}); });
  expect_error(ErrorCode::usage, "do not fit", [] { raw(1, 3, {0, 2}, {0}); });
  expect_error(ErrorCode::usage, "do not fit", [] { raw(0, 3, {}, {}); });
}

TEST(CsrPattern, ValidateNamesTheRow) {
  EXPECT_NO_THROW(raw(3, 3, {0, 1, 1, 3}, {2, 0, 2}).validate());
  constexpr auto bad = ErrorCode::bad_input;
  expect_error(bad, "starts at 1", [] { raw(1, 3, {1, 1}, {0}).validate(); });
  expect_error(bad, "row 1: row_ptr falls", [] { raw(3, 3, {0, 2, 1, 3}, {0, 1, 2}).validate(); });
  // An offset far outside, taken back in the next row: nothing may be read there.
  expect_error(bad, "row 0: row_ptr falls", [] { raw(2, 3, {0, EdgeOffset{1} << 60, 1}, {0}).validate(); });
  expect_error(bad, "row 1: columns", [] { raw(3, 3, {0, 1, 2, 3}, {2, 3, 2}).validate(); });
  expect_error(bad, "row 2: columns", [] { raw(3, 3, {0, 0, 1, 3}, {2, 1, 0}).validate(); });
  expect_error(bad, "row 0: columns", [] { raw(1, 3, {0, 2}, {1, 1}).validate(); });
  expect_error(bad, "row 0: columns", [] { raw(1, 4294967295U, {0, 1}, {4294967295U}).validate(); });
  EXPECT_NO_THROW(raw(1, 4294967295U, {0, 1}, {4294967294U}).validate());
}

TEST(CsrPattern, ValidateFindsTheFirstBadRowWhateverTheThreads) {
  const NodeId n = 10000;
  for (const int threads : test::thread_counts) {
    Buffer<EdgeOffset> row_ptr(n + 1, Device::host(threads));
    Buffer<NodeId> col_ind(n, NodeId{0}, Device::host(threads));
    for (NodeId i = 0; i <= n; ++i) row_ptr[i] = i;
    for (const NodeId i : {1234U, 7777U, 9999U}) col_ind[i] = 1;
    expect_error(ErrorCode::bad_input, "row 1234:", [&] { CsrPattern(n, 1, std::move(row_ptr), std::move(col_ind)); });
  }
}

TEST(CsrPattern, EdgeListBecomesTheSetOfItsPairs) {
  EXPECT_TRUE(rc::check("with every option", [] {
    const NodeId n = std::max<NodeId>(1, test::arbitrary_side());
    const NodeId ncols = *rc::gen::arbitrary<bool>() ? n : std::max<NodeId>(1, test::arbitrary_side());
    const EdgeListOptions options{.symmetrize = n == ncols && *rc::gen::arbitrary<bool>(),
                                  .drop_loops = *rc::gen::arbitrary<bool>()};
    const auto pairs = *rc::gen::container<std::vector<std::pair<NodeId, NodeId>>>(
        rc::gen::pair(rc::gen::inRange<NodeId>(0, n), rc::gen::inRange<NodeId>(0, ncols)));
    Ids rows;
    Ids cols;
    test::EntrySet expected{n, ncols, {}};
    for (const auto& [i, j] : pairs) {
      rows.push_back(i);
      cols.push_back(j);
      if (i == j && options.drop_loops) continue;
      expected.entries.emplace(i, j);
      if (options.symmetrize) expected.entries.emplace(j, i);
    }
    const CsrPattern a = csr_from_edges(n, ncols, rows, cols, options);
    a.validate();
    RC_ASSERT(test::entries_of(a) == expected);
  }));
}

TEST(CsrPattern, LongEdgeListsDoNotDependOnTheThreads) {
  // Skewed rows, many duplicates; long enough for every loop to be cut.
  const std::size_t m = 200000;
  for (const NodeId n : {3U, 700U, 60000U}) {
    Ids rows(m);
    Ids cols(m);
    test::EntrySet expected{n, n, {}};
    for (std::size_t e = 0; e < m; ++e) {
      const double u = random_uniform_double({7, n, 0}, e);
      rows[e] = static_cast<NodeId>(u * u * u * n);
      cols[e] = static_cast<NodeId>(random_below({8, n, 0}, e, std::min<NodeId>(n, 2000)));
      expected.entries.emplace(rows[e], cols[e]);
    }
    for (const int threads : test::thread_counts) {
      const CsrPattern a = csr_from_edges(n, n, rows, cols, {}, Device::host(threads));
      a.validate();
      EXPECT_TRUE(test::entries_of(a) == expected) << n << " " << threads;
    }
  }
}

TEST(CsrPattern, EdgeListErrors) {
  const Ids one{1};
  const Ids two{1, 2};
  expect_error(ErrorCode::usage, "2 rows but 1 columns", [&] { (void)csr_from_edges(3, 3, two, one); });
  expect_error(ErrorCode::usage, "outside 3 x 2", [&] { (void)csr_from_edges(3, 2, two, two); });
  expect_error(ErrorCode::usage, "outside 2 x 3", [&] { (void)csr_from_edges(2, 3, two, two); });
  expect_error(ErrorCode::usage, "square", [&] { (void)csr_from_edges(3, 4, one, one, {.symmetrize = true}); });
}

TEST(CsrPattern, TransposeExchangesRowsAndColumns) {
  EXPECT_TRUE(rc::check("and twice is the same", [] {
    const test::EntrySet entries = test::arbitrary_matrix();
    const CsrPattern a = test::csr_of(entries);
    const CsrPattern b = transpose(a);
    b.validate();
    RC_ASSERT(test::entries_of(b) == test::transposed(entries));
    RC_ASSERT(transpose(b) == a);
  }));
}

TEST(CsrPattern, SymmetrizedIsTheUnionOfBothDirections) {
  EXPECT_TRUE(rc::check("and is symmetric", [] {
    test::EntrySet entries = test::arbitrary_square();
    const CsrPattern a = test::csr_of(entries);
    RC_ASSERT(is_symmetric(a) == (test::transposed(entries) == entries));
    const CsrPattern b = symmetrized(a);
    b.validate();
    const test::EntrySet mirrored = test::transposed(entries);
    entries.entries.insert(mirrored.entries.begin(), mirrored.entries.end());
    RC_ASSERT(test::entries_of(b) == entries);
    RC_ASSERT(is_symmetric(b));
  }));
  EXPECT_FALSE(is_symmetric(csr_from_edges(2, 3, {}, {})));
  expect_error(ErrorCode::usage, "2 x 3", [] { (void)symmetrized(csr_from_edges(2, 3, {}, {})); });
}

TEST(CsrPattern, OneMissingMirrorEntryIsNoticed) {
  const CsrPattern whole = test::rmat_pattern(11, 12000, 3);
  ASSERT_TRUE(is_symmetric(whole));
  for (const std::size_t left_out : {std::size_t{0}, std::size_t{whole.nvals() / 2}, std::size_t{whole.nvals() - 1}}) {
    Ids rows;
    Ids cols;
    std::size_t e = 0;
    for (NodeId i = 0; i < whole.nrows(); ++i) {
      for (const NodeId j : whole.row(i)) {
        if (e++ == left_out) continue;
        rows.push_back(i);
        cols.push_back(j);
      }
    }
    for (const int threads : test::thread_counts) {
      EXPECT_FALSE(is_symmetric(csr_from_edges(whole.nrows(), whole.ncols(), rows, cols, {}, Device::host(threads))));
    }
  }
}

TEST(CsrPattern, SelfLoops) {
  EXPECT_TRUE(rc::check("are added, counted and dropped", [] {
    test::EntrySet entries = test::arbitrary_matrix();
    const CsrPattern a = test::csr_of(entries);
    std::size_t loops = 0;
    for (const auto& [i, j] : entries.entries) loops += i == j ? 1U : 0U;
    RC_ASSERT(num_self_loops(a) == loops);
    const CsrPattern with = with_self_loops(a);
    const CsrPattern without = without_self_loops(a);
    with.validate();
    without.validate();
    const NodeId diagonal = std::min(a.nrows(), a.ncols());
    for (NodeId i = 0; i < diagonal; ++i) entries.entries.emplace(i, i);
    RC_ASSERT(test::entries_of(with) == entries);
    RC_ASSERT(num_self_loops(with) == diagonal);
    for (NodeId i = 0; i < diagonal; ++i) entries.entries.erase({i, i});
    RC_ASSERT(test::entries_of(without) == entries);
  }));
}

TEST(CsrPattern, PermutedAndBack) {
  EXPECT_TRUE(rc::check("by the inverse", [] {
    const test::EntrySet entries = test::arbitrary_square();
    const CsrPattern a = test::csr_of(entries);
    const Ids new_id = test::arbitrary_permutation(a.nrows());
    test::EntrySet expected{a.nrows(), a.ncols(), {}};
    for (const auto& [i, j] : entries.entries) expected.entries.emplace(new_id[i], new_id[j]);
    const CsrPattern b = permuted(a, new_id);
    b.validate();
    RC_ASSERT(test::entries_of(b) == expected);
    RC_ASSERT(permuted(b, inverse_permutation(new_id).span()) == a);
  }));
}

TEST(CsrPattern, PermutedRefusesWhatIsNoPermutation) {
  const CsrPattern a = csr_from_edges(3, 3, {}, {});
  const auto with = [&](const Ids& ids) { return [&a, ids] { (void)permuted(a, ids); }; };
  expect_error(ErrorCode::usage, "2 new ids for 3 nodes", with({0, 1}));
  expect_error(ErrorCode::usage, "new id 3 of node 1", with({0, 3, 2}));
  expect_error(ErrorCode::usage, "new id 0 of node 2", with({0, 1, 0}));
  expect_error(ErrorCode::usage, "new id 4294967295", with({0, 1, 4294967295U}));
  expect_error(ErrorCode::usage, "2 x 3", [] { (void)permuted(csr_from_edges(2, 3, {}, {}), {}); });
}

TEST(CsrPattern, NothingDependsOnTheThreads) {
  const auto results = [](int threads) {
    const CsrPattern a = test::random_pattern(5000, 4001, 0.002, 1, Device::host(threads));
    const CsrPattern square = test::rmat_pattern(13, 60000, 2, Device::host(threads));
    Ids new_id(square.nrows());
    for (NodeId i = 0; i < square.nrows(); ++i) new_id[i] = i ^ 1234U;
    std::vector<CsrPattern> all;
    all.push_back(transpose(a));
    all.push_back(transpose(square));
    all.push_back(with_self_loops(a));
    all.push_back(without_self_loops(with_self_loops(square)));
    all.push_back(permuted(square, new_id));
    all.push_back(symmetrized(permuted(square, new_id)));
    all.push_back(a.clone());
    return all;
  };
  const auto one = results(1);
  for (const CsrPattern& a : one) EXPECT_NO_THROW(a.validate());
  EXPECT_TRUE(test::entries_of(one[0]) == test::transposed(test::entries_of(one.back())));
  EXPECT_TRUE(one[1] == one[3]);  // the R-MAT graph is symmetric, without loops
  for (const int threads : {2, 5}) {
    const auto many = results(threads);
    for (std::size_t n = 0; n < one.size(); ++n) EXPECT_TRUE(one[n] == many[n]) << n << " " << threads;
  }
}

}  // namespace
}  // namespace bitgraph
