// SPDX-License-Identifier: Apache-2.0
// Arrays whose sizes and values disagree at random, given to every public constructor of a format: it throws an Error,
// or what it makes gives the right results. BITGRAPH_CASES sets the number of cases a type; with the address sanitizer
// this is where writes beyond an array show. hostile_models_test.cpp does the same with data sets and models.
#include <bitgraph/bitgraph.hpp>

#include "support/hostile.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

using test::Draw;

using Entries = std::set<std::pair<NodeId, NodeId>>;

/// Arrays of a CSR pattern that are right but for what `d` spoils.
struct CsrArrays {
  NodeId nrows, ncols;
  std::vector<EdgeOffset> row_ptr;
  std::vector<NodeId> col_ind;

  explicit CsrArrays(Draw& d)
      : nrows(static_cast<NodeId>(d.below(9))), ncols(static_cast<NodeId>(d.once_in(2) ? nrows : d.below(70))) {
    row_ptr.push_back(0);
    for (NodeId i = 0; i < nrows; ++i) {
      for (NodeId j = 0; j < ncols; ++j) {
        if (d.once_in(4)) col_ind.push_back(j);
      }
      row_ptr.push_back(col_ind.size());
    }
    if (d.once_in(2)) spoil(d);
  }

  void spoil(Draw& d) {
    switch (d.below(6)) {
      case 0: nrows = d.perhaps(nrows, 1); break;
      case 1: ncols = d.perhaps(ncols, 1); break;
      case 2: row_ptr[d.below(row_ptr.size())] = d.perhaps(EdgeOffset{col_ind.size()}, 2); break;
      case 3: row_ptr.resize(d.perhaps(row_ptr.size(), 1) % 20); break;
      case 4: col_ind.resize((col_ind.size() + 1 + d.below(3)) % 600); break;
      default:
        if (!col_ind.empty()) col_ind[d.below(col_ind.size())] = static_cast<NodeId>(d.perhaps(d.below(80), 3));
    }
  }

  [[nodiscard]] CsrPattern make() const {
    return {nrows, ncols, Buffer<EdgeOffset>::copy_of(row_ptr), Buffer<NodeId>::copy_of(col_ind)};
  }
};

Entries entries_of(const CsrPattern& a) {
  Entries entries;
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (const NodeId j : a.row(i)) entries.emplace(i, j);
  }
  return entries;
}

Entries transposed(const Entries& entries) {
  Entries turned;
  for (const auto& [i, j] : entries) turned.emplace(j, i);
  return turned;
}

void expect_right_sums(const CsrPattern& a, const Entries& entries) {
  if (a.ncols() > 4096 || a.nrows() > 4096) return;
  DenseMatrix<float> x(a.ncols(), 3);
  for (std::size_t n = 0; n < x.values().size(); ++n) x.values()[n] = static_cast<float>(n % 7);
  DenseMatrix<float> expected(a.nrows(), 3);
  for (const auto& [i, j] : entries) {
    for (std::size_t c = 0; c < 3; ++c) expected(i, c) += x(j, c);
  }
  const auto sums = spmm<DenseMatrix>(a, x);
  EXPECT_TRUE(std::ranges::equal(sums.values(), expected.values()));
}

TEST(Hostile, CsrPattern) {
  test::Outcomes outcomes;
  for (std::size_t n = 0; n < test::hostile_cases(); ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    const CsrArrays arrays(d);
    outcomes.add([&] { return arrays.make(); },
                 [&](const CsrPattern& a) {
                   const Entries entries = entries_of(a);
                   ASSERT_EQ(entries.size(), a.nvals());
                   EXPECT_TRUE(std::ranges::all_of(entries, [&](const auto& e) { return e.second < a.ncols(); }));
                   expect_right_sums(a, entries);
                   if (a.ncols() > 4096) return;
                   EXPECT_EQ(entries_of(transpose(a)), transposed(entries));
                   EXPECT_EQ(unpack(pack(a, {.tile_dim = tile_dims[d.below(tile_dims.size())]})), a);
                   EXPECT_EQ(to_csr(to_sell(a)), a);
                 });
  }
}

TEST(Hostile, BitTileMatrix) {
  test::Outcomes outcomes;
  for (std::size_t n = 0; n < test::hostile_cases(); ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    const int k = tile_dims[d.below(tile_dims.size())];
    const BitTileMatrix right =
        pack(test::random_pattern(static_cast<NodeId>(d.below(70)), static_cast<NodeId>(d.below(70)), 0.05, n),
             {.tile_dim = k});
    std::vector<EdgeOffset> ptr(right.tile_row_ptr().begin(), right.tile_row_ptr().end());
    std::vector<NodeId> cols(right.tile_col_ind().begin(), right.tile_col_ind().end());
    std::vector<std::byte> bits(right.bit_tiles().begin(), right.bit_tiles().end());
    NodeId nrows = right.nrows(), ncols = right.ncols();
    int side = k;
    EdgeOffset nvals = right.nvals();
    switch (d.below(10)) {
      case 0: nrows = d.perhaps(nrows, 1); break;
      case 1: ncols = d.perhaps(ncols, 1); break;
      case 2: ptr[d.below(ptr.size())] = d.perhaps(EdgeOffset{cols.size()}, 2); break;
      case 3:
        if (!cols.empty()) cols[d.below(cols.size())] = static_cast<NodeId>(d.perhaps(d.below(20), 3));
        break;
      case 4:
        if (!bits.empty()) bits[d.below(bits.size())] ^= static_cast<std::byte>(d.below(256));
        break;
      case 5: bits.resize(d.below(bits.size() + 9)); break;
      case 6: side = d.perhaps(side, 1); break;
      case 7: nvals = d.perhaps(nvals, 1); break;
      default: break;
    }
    outcomes.add(
        [&] {
          return BitTileMatrix(nrows, ncols, side, Buffer<EdgeOffset>::copy_of(ptr), Buffer<NodeId>::copy_of(cols),
                               Buffer<std::byte>::copy_of(bits), nvals);
        },
        [&](const BitTileMatrix& a) {
          const CsrPattern pattern = unpack(a);
          EXPECT_EQ(pattern.nvals(), a.nvals());
          if (a.ncols() > 4096) return;
          EXPECT_EQ(pack(pattern, {.tile_dim = a.tile_dim()}), a);
          EXPECT_EQ(entries_of(unpack(transpose(a))), transposed(entries_of(pattern)));
        });
  }
}

TEST(Hostile, BitMatrix) {
  test::Outcomes outcomes;
  for (std::size_t n = 0; n < test::hostile_cases(); ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    const std::size_t nrows = d.below(6), ncols = d.below(140);
    const std::size_t size = d.perhaps(nrows * words_for_bits(ncols), 4) % 1000;
    auto words = test::random_buffer<std::uint64_t>(size, [&] { return d.once_in(3) ? d.below(64) : 0; });
    const std::size_t rows = d.perhaps(nrows), cols = d.perhaps(ncols);
    outcomes.add([&] { return BitMatrix<ZeroOne>(rows, cols, std::move(words)); },
                 [&](const BitMatrix<ZeroOne>& a) {
                   if (a.words().empty()) return;  // no rows, or none with a column
                   std::size_t ones = 0;
                   for (const std::uint64_t word : a.words()) ones += static_cast<std::size_t>(std::popcount(word));
                   EXPECT_EQ(to_csr(a).nvals(), ones);
                   EXPECT_EQ(transpose(transpose(a)), a);
                 });
  }
}

TEST(Hostile, SidesWhoseProductOverflows) {
  const std::size_t half = std::size_t{1} << 32;
  for (const auto& [rows, cols] : {std::pair{half, half}, {half * 2, half / 2}, {~std::size_t{0}, std::size_t{3}}}) {
    EXPECT_THROW(DenseMatrix<float>(rows, cols), Error);
    EXPECT_THROW(DenseMatrix<float>(rows, cols, Buffer<float>()), Error);
    EXPECT_THROW(BitMatrix<ZeroOne>(rows, cols * 64), Error);
    EXPECT_THROW(BitMatrix<ZeroOne>(rows, ~std::size_t{0}), Error);
    EXPECT_THROW(Buffer<double>(~std::size_t{0} / 4), Error);
  }
}

TEST(Hostile, ValuesAndColumnMaps) {
  test::Outcomes outcomes;
  for (std::size_t n = 0; n < test::hostile_cases(); ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    const CsrPattern pattern = test::random_pattern(static_cast<NodeId>(d.below(8)), 5, 0.4, n);
    const auto values = test::random_buffer<float>(d.perhaps(std::size_t{pattern.nvals()}) % 100,
                                                   [&] { return static_cast<float>(d.below(5)) - 2; });
    const Buffer<float> shift(d.perhaps(std::size_t{5}, 8) % 9, 0.5F), scale(d.perhaps(std::size_t{5}, 8) % 9, 1.0F);
    outcomes.add(
        [&] {
          if (d.once_in(2)) static_cast<void>(CsrMatrix<float>(pattern.clone(), values.clone()));
          return binarize(pattern, values.span(), ColumnMap{shift.span(), scale.span()});
        },
        [&](const SparseBinarized& bits) {
          DenseMatrix<float> x = test::dense_of(pattern, values.span());
          if (!shift.empty()) {
            for (std::size_t e = 0; e < x.values().size(); ++e) x.values()[e] -= 0.5F;
          }
          EXPECT_EQ(to_bit_matrix(bits.bits), binarize(x).bits);
        });
  }
}

TEST(Hostile, Permutations) {
  test::Outcomes outcomes;
  for (std::size_t n = 0; n < test::hostile_cases(); ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    const auto size = static_cast<NodeId>(d.below(9));
    const CsrPattern a = test::random_pattern(size, size, 0.3, n);
    std::vector<NodeId> new_id(size);
    std::iota(new_id.begin(), new_id.end(), NodeId{0});
    for (std::size_t i = size; i > 1; --i) std::swap(new_id[i - 1], new_id[d.below(i)]);
    if (d.once_in(2) && size != 0) new_id[d.below(size)] = static_cast<NodeId>(d.perhaps(d.below(size + 1), 3));
    if (d.once_in(5)) new_id.resize(d.below(12));
    outcomes.add([&] { return permuted(a, new_id); },
                 [&](const CsrPattern& b) { EXPECT_EQ(permuted(b, inverse_permutation(new_id).span()), a); });
  }
}

TEST(Hostile, Partitions) {
  test::Outcomes outcomes;
  for (std::size_t n = 0; n < test::hostile_cases(); ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    const auto size = static_cast<NodeId>(d.below(12));
    const auto parts = static_cast<NodeId>(1 + d.below(std::max<NodeId>(size, 1)));
    std::vector<NodeId> part_of(size);
    for (NodeId& part : part_of) part = d.perhaps(static_cast<NodeId>(d.below(parts)), 30);
    outcomes.add([&] { return Partition(part_of, d.perhaps(parts)); },
                 [&](const Partition& partition) {
                   std::vector<NodeId> met;
                   for (NodeId p = 0; p < partition.num_parts(); ++p) {
                     for (const NodeId i : partition.nodes(p)) {
                       EXPECT_EQ(part_of[i], p);
                       met.push_back(i);
                     }
                   }
                   std::sort(met.begin(), met.end());
                   std::vector<NodeId> all(size);
                   std::iota(all.begin(), all.end(), NodeId{0});
                   EXPECT_EQ(met, all);
                 });
  }
}

TEST(Hostile, Samplers) {
  test::Outcomes outcomes;
  for (std::size_t n = 0; n < test::hostile_cases(); ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    const auto size = static_cast<NodeId>(d.below(12));
    const CsrPattern graph = test::random_pattern(size, d.once_in(9) ? size + 1 : size, 0.3, n);
    std::vector<NodeId> nodes;
    for (NodeId i = 0; i < size; ++i) {
      if (d.once_in(2)) nodes.push_back(d.perhaps(i, 20));
    }
    outcomes.add(
        [&] {
          const std::size_t fan_out = d.below(9) == 0 ? 0 : 1 + d.below(4);
          nn::NeighborSampler neighbors(graph, std::vector<std::size_t>(d.below(4), fan_out), n);
          nn::NeighborSample sample;
          neighbors.sample_into(sample, nodes, 1, 1);
          nn::RandomWalkSampler walks(graph, nodes, {.num_roots = d.perhaps(std::size_t{5}) % 50, .walk_length = 3});
          nn::SubgraphSample subgraph;
          walks.sample_into(subgraph, 1, 1);
          return nn::induced_subgraph(graph, nodes);
        },
        [&](const CsrPattern& induced) {
          Entries expected;
          const Entries entries = entries_of(graph);
          for (std::size_t i = 0; i < nodes.size(); ++i) {
            for (std::size_t j = 0; j < nodes.size(); ++j) {
              if (entries.contains({nodes[i], nodes[j]}))
                expected.emplace(static_cast<NodeId>(i), static_cast<NodeId>(j));
            }
          }
          EXPECT_EQ(entries_of(induced), expected);
        });
  }
}

TEST(Hostile, AnEmptyGraphHasNoSource) {
  const PackedGraph empty = pack_graph(CsrPattern());
  EXPECT_THROW(static_cast<void>(bfs(empty, {.source = 0})), Error);
  EXPECT_THROW(static_cast<void>(sssp(empty, {.source = 0})), Error);
  const std::vector<NodeId> sources{0};
  EXPECT_THROW(static_cast<void>(multi_source_bfs(empty, {.sources = sources})), Error);
  EXPECT_THROW(static_cast<void>(betweenness(empty, {.sources = sources})), Error);
  EXPECT_EQ(closeness(empty).size(), 0U);
}

}  // namespace
}  // namespace bitgraph
