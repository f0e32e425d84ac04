// SPDX-License-Identifier: Apache-2.0
// Every kernel on a CUDA device against the host's: each case, graph format, type pair, set of scales. Votes are equal
// to the last bit, sums of floats within the stated bound, and so are the signs of sums.
#include "ops/spmm/spmm_cases.hpp"
#include "support/cuda_device.hpp"

#include <bitgraph/ops/spmm.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>

namespace bitgraph {
namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

/// Random scales of the right lengths on a device; kind 0 none, 1 those of rows and features, 2 of columns as well, 3
/// of rows and columns, 4 of columns.
struct Scales {
  Scales(int kind, const CsrPattern& a, std::size_t width, const Device& device) {
    const auto random = [&](std::size_t size, std::uint64_t seed, float low, float high) {
      return Buffer<float>::copy_of(test::random_floats(size, seed, low, high), device);
    };
    if (kind >= 1 && kind != 4) row = random(a.nrows(), 11, 0.25F, 2);
    if (kind == 1 || kind == 2) {
      feature = random(width, 12, -1, 1);
      offset = random(width, 13, -3, 3);
      bias = random(width, 14, -1, 1);
    }
    if (kind >= 2) col = random(a.ncols(), 15, 0.25F, 2);
  }
  [[nodiscard]] SpmmOptions options() const {
    return {.row_scale = row.span(),
            .col_scale = col.span(),
            .feature_scale = feature.span(),
            .feature_offset = offset.span(),
            .bias = bias.span()};
  }
  /// Their absolute values.
  void take_magnitudes() {
    for (Buffer<float>* values : {&row, &col, &feature, &offset, &bias}) {
      for (float& value : values->span()) value = std::abs(value);
    }
  }
  Buffer<float> row, col, feature, offset, bias;
};

Floats magnitudes(const Floats& x) {
  Floats result = x.to(Device{});
  for (float& value : result.values()) value = std::abs(value);
  return result;
}
Floats magnitudes(const Bits& x) {
  Floats ones(x.nrows(), x.ncols());
  for (float& value : ones.values()) value = 1;
  return ones;
}

/// What a result may differ by from the host's, element by element: none for votes.
template <class In>
Floats tolerance(const CsrPattern& a, const In& x, int kind) {
  if (std::is_same_v<In, Bits> && kind < 2) return Floats(a.nrows(), x.ncols());
  Scales scales(kind, a, x.ncols(), Device{});
  scales.take_magnitudes();
  Floats bound = spmm<Floats>(a, magnitudes(x), scales.options());
  for (std::size_t i = 0; i < a.nrows(); ++i) {
    const float terms = 8 + static_cast<float>(a.row(static_cast<NodeId>(i)).size());
    for (std::size_t f = 0; f < x.ncols(); ++f) bound(i, f) *= std::ldexp(terms, -23);
  }
  return bound;
}

void expect_within(const Floats& bound, const Floats& expected, const Bits& actual) {
  EXPECT_TRUE(test::padding_is_zero(actual));
  for (std::size_t i = 0; i < expected.nrows(); ++i) {
    for (std::size_t f = 0; f < expected.ncols(); ++f) {
      if (std::abs(expected(i, f)) < bound(i, f)) continue;
      ASSERT_EQ(expected(i, f) >= 0, actual.bit(i, f)) << "row " << i << ", feature " << f;
    }
  }
}
void expect_within(const Floats& bound, const Floats& expected, const Floats& actual) {
  for (std::size_t i = 0; i < expected.nrows(); ++i) {
    for (std::size_t f = 0; f < expected.ncols(); ++f) {
      ASSERT_LE(std::abs(expected(i, f) - actual(i, f)), bound(i, f)) << "row " << i << ", feature " << f;
    }
  }
}

/// Of two calls.
void expect_same(const Bits& a, const Bits& b) { EXPECT_TRUE(a == b); }
void expect_same(const Floats& a, const Floats& b) {
  EXPECT_EQ(std::memcmp(a.values().data(), b.values().data(), a.values().size_bytes()), 0);
}

/// An output that holds something else already.
Bits dirty(const Bits&, std::size_t nrows, std::size_t ncols) { return test::random_bits(nrows, ncols, 99); }
Floats dirty(const Floats&, std::size_t nrows, std::size_t ncols) { return test::random_dense(nrows, ncols, 99); }

template <class Out, class Graph, class In>
void check_format(const CsrPattern& a, const Graph& graph, const In& x, bool ordered = false,
                  std::initializer_list<int> kinds = {0, 1, 2, 3, 4}) {
  const Device& device = *test::cuda_device();
  const Graph graph_there = graph.to(device);
  RowOrder order;
  RowOrder compact;
  if constexpr (std::is_same_v<Graph, CsrPattern>) {
    if (ordered) {
      order = RowOrder(graph_there);
      compact = RowOrder::compact(graph_there);
    }
  }
  const In x_there = x.to(device);
  for (const int kind : kinds) {
    SCOPED_TRACE("scales " + std::to_string(kind));
    const Scales scales(kind, a, x.ncols(), Device{});
    const Scales scales_there(kind, a, x.ncols(), device);
    SpmmOptions options = scales_there.options();
    options.row_order = &order;
    const Floats expected = spmm<Floats>(a, x, scales.options());
    Out actual = dirty(Out{}, a.nrows(), x.ncols()).to(device);
    spmm_into(actual, graph_there, x_there, options);
    expect_within(tolerance(a, x, kind), expected, actual.to(Device{}));
    Out again = dirty(Out{}, a.nrows(), x.ncols()).to(device);
    options.row_order = &compact;
    spmm_into(again, graph_there, x_there, options);
    expect_same(actual.to(Device{}), again.to(Device{}));
  }
}

template <class Out, class In>
void check(const CsrPattern& a, const In& x) {
  check_format<Out>(a, a, x);
  check_format<Out>(a, a, x, true);
  for (const int k : tile_dims) {
    SCOPED_TRACE("tiles of " + std::to_string(k));
    check_format<Out>(a, pack(a, {.tile_dim = k}), x);
  }
}

/// Votes and counts, with the rows in order by length and without.
void check_votes(const CsrPattern& a, const Bits& x) {
  for (const bool ordered : {false, true}) {
    SCOPED_TRACE(ordered ? "in order" : "as they are");
    check_format<Bits>(a, a, x, ordered);
    check_format<Floats>(a, a, x, ordered);
  }
}

void check_all(const CsrPattern& a, std::size_t width) {
  const Bits bits = test::random_bits(a.ncols(), width, 1);
  const Floats floats = test::random_dense(a.ncols(), width, 3);
  check<Bits>(a, bits);
  check<Floats>(a, bits);
  check<Bits>(a, floats);
  check<Floats>(a, floats);
}

class SpmmCudaTest : public ::testing::TestWithParam<std::size_t> {};

TEST_P(SpmmCudaTest, IsTheSameAsOnTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  const test::SpmmCase& c = test::spmm_cases()[GetParam()];
  check_all(c.a, c.width);
}

INSTANTIATE_TEST_SUITE_P(Cases, SpmmCudaTest, ::testing::Range(std::size_t{0}, test::spmm_cases().size()),
                         [](const auto& param) { return test::spmm_cases()[param.param].name; });

/// Hubs, long rows and short ones side by side, in every width of a neighbour: a word to two slices.
TEST(SpmmCuda, SkewedDegreesInEveryWidth) {
  BITGRAPH_REQUIRE_CUDA();
  const CsrPattern a = test::rmat_pattern(12, 150000, 3);
  for (const std::size_t width : {7U, 16U, 33U, 64U, 100U, 192U, 256U, 300U, 512U, 1100U}) {
    SCOPED_TRACE(width);
    const Bits bits = test::random_bits(a.ncols(), width, 1);
    check_votes(a, bits);
    const Floats floats = test::random_dense(a.ncols(), width, 3);
    check_format<Bits>(a, a, floats);
    check_format<Floats>(a, a, floats);
  }
}

/// Fewer features than a warp has lanes for: rows of whole fours and others, rows that go on for many blocks, rows so
/// short that a block has more than it writes at a time, most of them empty, and X of more rows than there are entries.
TEST(SpmmCuda, FewFeatures) {
  BITGRAPH_REQUIRE_CUDA();
  const CsrPattern patterns[] = {test::grid_pattern(140, 150), test::random_pattern(30000, 700, 0.0001, 3),
                                 test::random_pattern(400, 30000, 0.001, 4), test::random_pattern(3, 9000, 1.2, 6),
                                 test::rmat_pattern(13, 200000, 5)};
  for (const CsrPattern& a : patterns) {
    for (const std::size_t width : {1U, 4U, 7U, 8U, 13U, 16U, 30U, 32U, 41U, 64U}) {
      SCOPED_TRACE(std::to_string(a.nrows()) + " rows, " + std::to_string(width) + " features");
      const Floats floats = test::random_dense(a.ncols(), width, 3);
      check_format<Bits>(a, a, floats);
      check_format<Floats>(a, a, floats);
    }
  }
}

/// More entries than go without even shares where rows have more than a word, and hubs among them.
TEST(SpmmCuda, ManyEntriesAndHubs) {
  BITGRAPH_REQUIRE_CUDA();
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  constexpr NodeId num_cols = 9000;
  for (NodeId i = 0; i < 3000; ++i) {
    const NodeId length = i % 150 == 7 ? num_cols : i % 5 == 0 ? i % 40 : 500 + i % 100;
    for (NodeId k = 0; k < length; ++k) {
      rows.push_back(i);
      cols.push_back((i * 37 + k * 23) % num_cols);
    }
  }
  const CsrPattern a = csr_from_edges(3000, num_cols, rows, cols);
  for (const std::size_t width : {64U, 100U, 256U}) {
    SCOPED_TRACE(width);
    const Bits bits = test::random_bits(num_cols, width, 1);
    check_votes(a, bits);
    const Floats floats = test::random_dense(num_cols, width, 3);
    check_format<Bits>(a, a, floats);
    check_format<Floats>(a, a, floats);
  }
}

/// Rows of the given lengths, whose columns are spread over all.
CsrPattern rows_of(const std::vector<NodeId>& lengths, NodeId ncols) {
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  for (NodeId i = 0; i < lengths.size(); ++i) {
    for (NodeId k = 0; k < lengths[i]; ++k) {
      rows.push_back(i);
      cols.push_back(static_cast<NodeId>((i * 37 + std::uint64_t{k} * ncols / lengths[i]) % ncols));
    }
  }
  return csr_from_edges(static_cast<NodeId>(lengths.size()), ncols, rows, cols);
}

/// Whatever takes a row of some length, at the borders between them: lanes, sets of lanes, warps, blocks; in an order
/// that has nothing to do with the lengths.
TEST(SpmmCuda, RowsOfEveryLengthInEveryWidth) {
  BITGRAPH_REQUIRE_CUDA();
  std::vector<NodeId> lengths;
  for (NodeId n = 0; n < 70; ++n) lengths.push_back(n * 29 % 70);
  for (NodeId border = 128; border <= 8192; border *= 2) {
    for (const NodeId n : {border + 1, NodeId{0}, border - 1, NodeId{3}, border}) lengths.push_back(n);
  }
  for (NodeId n = 0; n < 700; ++n) lengths.push_back(n % 3 == 0 ? 0 : n % 11);
  const CsrPattern a = rows_of(lengths, 9001);
  for (const std::size_t width : {1U, 31U, 64U, 65U, 127U, 128U, 129U, 192U, 250U, 256U, 320U, 512U, 513U, 600U}) {
    SCOPED_TRACE(width);
    const Bits bits = test::random_bits(a.ncols(), width, 1);
    check_votes(a, bits);
  }
}

/// Sums of rows of uneven length with an order: short ones, some of a warp each, hubs that a block or several have, and
/// rows without entries.
TEST(SpmmCuda, RowsInOrder) {
  BITGRAPH_REQUIRE_CUDA();
  std::vector<NodeId> lengths = {40000, 3, 17000, 0, 9000, 130, 700, 2000, 1025, 20000};
  for (NodeId n = 0; n < 500; ++n) lengths.push_back(n % 7 == 0 ? 0 : n % 90);
  const CsrPattern patterns[] = {test::rmat_pattern(9, 6000, 5), test::rmat_pattern(13, 200000, 5),
                                 test::random_pattern(900, 700, 0.08, 3), rows_of(lengths, 50021)};
  for (const CsrPattern& a : patterns) {
    for (const std::size_t width : {36U, 41U, 64U, 65U, 128U, 200U}) {
      SCOPED_TRACE(std::to_string(a.nrows()) + " rows, " + std::to_string(width) + " features");
      const Bits bits = test::random_bits(a.ncols(), width, 1);
      check_format<Bits>(a, a, bits, true);
      check_format<Floats>(a, a, bits, true);
      const Floats floats = test::random_dense(a.ncols(), width, 3);
      check_format<Bits>(a, a, floats, true);
      check_format<Floats>(a, a, floats, true);
    }
  }
}

/// Signs that come from a copy of X in 16 bits, and from X where those do not decide: features that 16 bits are exact
/// for, or too small or too large for them; rows whose terms cancel out but for what rounding takes; rows of zeros but
/// for one tiny feature; features that are no numbers. Hubs of several blocks and of one, long rows and short ones.
TEST(SpmmCuda, SignsThatHalvesDoNotDecide) {
  BITGRAPH_REQUIRE_CUDA();
  std::vector<NodeId> lengths = {40000, 3, 17000, 0, 9000, 130, 700, 2000, 1025, 20000, 300, 3000};
  for (NodeId n = 0; n < 170000; ++n) lengths.push_back(n % 7 == 0 ? 0 : n % 30);
  const CsrPattern a = rows_of(lengths, 50021);
  for (const std::size_t width : {64U, 100U}) {
    ASSERT_NE(spmm_copy_bytes(a.ncols(), width, a.nvals(), false, true), 0U) << "the graph is too small";
    const auto check_signs = [&](const char* what, const auto& change) {
      SCOPED_TRACE(std::to_string(width) + " features, " + what);
      Floats x = test::random_dense(a.ncols(), width, 3);
      for (std::size_t j = 0; j < x.nrows(); ++j) {
        for (std::size_t f = 0; f < width; ++f) x(j, f) = change(x(j, f), j, f);
      }
      check_format<Bits>(a, a, x, true, {0, 4});
    };
    check_signs("as they are", [](float v, std::size_t, std::size_t) { return v; });
    check_signs("whole numbers", [](float v, std::size_t, std::size_t) { return std::round(3 * v); });
    check_signs("whole numbers and one that is none",
                [](float v, std::size_t j, std::size_t f) { return j == 5 && f == 7 ? 0.1F : std::round(3 * v); });
    check_signs("of every size", [](float v, std::size_t j, std::size_t f) {
      return std::ldexp(v, static_cast<int>((7 * j + f) % 90) - 45);
    });
    check_signs("nearly equal magnitudes", [](float v, std::size_t j, std::size_t f) {
      const float size = 1 + std::ldexp(v, -14) + static_cast<float>(f) / 64;
      return j % 2 == 0 ? size : -size;
    });
    check_signs("few and tiny", [](float v, std::size_t j, std::size_t f) {
      return j == 0 ? 1e20F : (j + f) % 61 == 0 ? std::ldexp(v, -120) : 0.0F;
    });
    check_signs("some no numbers", [](float v, std::size_t j, std::size_t f) {
      constexpr float infinity = std::numeric_limits<float>::infinity();
      if ((j + 3 * f) % 1009 == 0) return j % 2 == 0 ? infinity : -infinity;
      return (j + f) % 2003 == 0 ? std::nanf("") : v;
    });
  }
}

/// A great many rows of few entries each, none in some; whole blocks of rows without any.
TEST(SpmmCuda, SumsOverAMesh) {
  BITGRAPH_REQUIRE_CUDA();
  std::vector<NodeId> lengths((NodeId{1} << 18) + 61);
  for (NodeId i = 0; i < lengths.size(); ++i) lengths[i] = i / 300 % 40 == 3 ? 0 : i % 5 == 0 ? i % 17 : i % 6;
  const CsrPattern a = rows_of(lengths, 70001);
  for (const std::size_t width : {7U, 12U, 64U, 65U, 132U}) {
    SCOPED_TRACE(width);
    const Floats floats = test::random_dense(a.ncols(), width, 3);
    check_format<Bits>(a, a, floats);
    check_format<Floats>(a, a, floats);
    const Bits bits = test::random_bits(a.ncols(), width, 1);
    check_format<Bits>(a, a, bits);
    check_format<Floats>(a, a, bits);
  }
}

/// More neighbours than the counters of a block's lanes hold before they are added up.
TEST(SpmmCuda, AHubBeyondTheCounters) {
  BITGRAPH_REQUIRE_CUDA();
  const CsrPattern a = rows_of({5, 290000, 0, 70000, 1}, 300007);
  for (const std::size_t width : {64U, 256U, 512U}) {
    SCOPED_TRACE(width);
    const Bits bits = test::random_bits(a.ncols(), width, 1);
    check_votes(a, bits);
  }
}

/// Counts that stand on the border: every second neighbour agrees.
TEST(SpmmCuda, ATieIsPlusOneInRowsOfEveryLength) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  constexpr NodeId num_rows = 90;
  for (NodeId i = 0; i < num_rows; ++i) {
    const NodeId length = i < 70 ? i : i * i;  // below, at and above every class of lengths
    for (NodeId j = 0; j < length; ++j) {
      rows.push_back(i);
      cols.push_back(j);
    }
  }
  const CsrPattern a = csr_from_edges(num_rows, 8000, rows, cols);
  Bits x(8000, 128);
  for (std::size_t j = 0; j < 8000; j += 2) {
    for (std::size_t f = 0; f < 128; f += 1 + j % 3) x.set_bit(j, f, true);
  }
  const CsrPattern there = a.to(device);
  const RowOrder order(there);
  const RowOrder of_a_copy(there.clone());
  for (const RowOrder* given : {static_cast<const RowOrder*>(nullptr), &order, &of_a_copy}) {
    const Bits actual = spmm<BitMatrix>(there, x.to(device), {.row_order = given}).to(Device{});
    EXPECT_TRUE(spmm<BitMatrix>(a, x) == actual);
    EXPECT_TRUE(actual.bit(2, 0)) << "one of two";
  }
}

TEST(SpmmCuda, ARepeatedCallAllocatesNothing) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern a = test::rmat_pattern(10, 20000, 1).to(device);
  const Bits x = test::random_bits(a.ncols(), 128, 1).to(device);
  Bits out(a.nrows(), 128, device);
  Floats sums(a.nrows(), 128, device);
  const RowOrder order(a);
  ASSERT_FALSE(order.empty());
  const std::size_t before = device.memory().allocations;
  for (int n = 0; n < 3; ++n) {
    spmm_into(out, a, x);
    spmm_into(sums, a, x);
    spmm_into(out, a, x, {.row_order = &order});
    spmm_into(sums, a, x, {.row_order = &order});
  }
  EXPECT_EQ(device.memory().allocations, before);
}

TEST(SpmmCuda, ErrorsNameOperandsOnAnotherDevice) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern a = test::random_pattern(5, 5, 0.5, 1);
  const Bits x = test::random_bits(5, 64, 1);
  Bits out(5, 64, device);
  try {
    spmm_into(out, a.to(device), x);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    EXPECT_NE(std::string(error.what()).find("X on cpu"), std::string::npos) << error.what();
  }
  try {
    const RowOrder order(test::random_pattern(6, 700, 0.5, 1).to(device));
    spmm_into(out, a.to(device), x.to(device), {.row_order = &order});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    EXPECT_NE(std::string(error.what()).find("row_order has 6 rows, A 5"), std::string::npos) << error.what();
  }
  try {
    spmm_into(out, to_sell(a), x.to(device));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
  }
}

}  // namespace
}  // namespace bitgraph
