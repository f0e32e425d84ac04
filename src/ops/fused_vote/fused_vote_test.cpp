// SPDX-License-Identifier: Apache-2.0
// Fused aggregations on a CUDA device against the calls that they replace, on the host: equal to the last bit, for all
// behind the sums is whole numbers.
#include "support/cuda_device.hpp"
#include "support/expect_error.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/ops/add.hpp>
#include <bitgraph/ops/concat.hpp>
#include <bitgraph/ops/fused_vote.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/spmm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

Buffer<float> floats(std::size_t size, std::uint64_t seed) {
  return Buffer<float>::copy_of(test::random_floats(size, seed, 0.25F, 2), Device());
}

void expect_equal(const Floats& actual, const Floats& expected) {
  ASSERT_EQ(actual.values().size(), expected.values().size());
  EXPECT_TRUE(std::equal(actual.values().begin(), actual.values().end(), expected.values().begin()));
}

/// Rows of no, few, many and all columns.
CsrPattern uneven(NodeId n) {
  Buffer<EdgeOffset> row_ptr(n + std::size_t{1}, EdgeOffset{0});
  for (NodeId i = 0; i < n; ++i) row_ptr[i + 1] = row_ptr[i] + (i % 4001 == 4000 ? n : i % 97 == 5 ? i % 700 : i % 3);
  Buffer<NodeId> col_ind(row_ptr[n]);
  for (NodeId i = 0; i < n; ++i) {
    for (EdgeOffset e = row_ptr[i]; e < row_ptr[i + 1]; ++e) col_ind[e] = static_cast<NodeId>(e - row_ptr[i]);
  }
  return {n, n, std::move(row_ptr), std::move(col_ind)};
}

std::vector<std::pair<std::string, CsrPattern>> graphs() {
  std::vector<std::pair<std::string, CsrPattern>> all;
  all.emplace_back("skewed", test::rmat_pattern(10, 20000, 1));
  all.emplace_back("grid", test::grid_pattern(30, 20));
  all.emplace_back("uneven", uneven(9000));
  all.emplace_back("hubs", uneven(40000));
  all.emplace_back("one node", CsrPattern(1, 1, Buffer<EdgeOffset>(2, EdgeOffset{0}), Buffer<NodeId>()));
  all.emplace_back("no entries", CsrPattern(700, 700, Buffer<EdgeOffset>(701, EdgeOffset{0}), Buffer<NodeId>()));
  return all;
}

struct Graph {
  CsrPattern a;
  RowOrder order;
};

/// Operands on the host and on the device.
struct Operands {
  Operands(const CsrPattern& graph, std::size_t ncols, std::size_t weights, const Device& device)
      : a(graph),
        x(test::random_bits(graph.nrows(), ncols, 1)),
        own(test::random_bits(graph.nrows(), ncols, 2)),
        before(test::random_bits(graph.nrows(), ncols, 3)),
        w(test::random_bits(weights, ncols, 4)),
        w_own(test::random_bits(weights, ncols, 5)),
        w_both(test::random_bits(weights, 2 * ncols, 6)),
        scale(floats(weights, 7)),
        bias(floats(weights, 8)),
        row_scale(floats(graph.nrows(), 9)),
        on_device(device) {
    for (std::size_t j = 0; j < ncols; ++j) w.set_bit(0, j, true);
  }

  [[nodiscard]] Bits votes() const {
    Bits v = spmm<Bits>(a, x);
    add_into(v, v, own);
    return v;
  }

  const CsrPattern& a;
  Bits x, own, before, w, w_own, w_both;
  Buffer<float> scale, bias, row_scale;
  Device on_device;
};

template <class Fn>
void for_each_case(const std::vector<std::pair<std::size_t, std::size_t>>& shapes, Fn&& fn) {
  const Device device = *test::cuda_device();
  for (const auto& [name, graph] : graphs()) {
    for (const auto& [ncols, weights] : shapes) {
      if (!can_fuse(ncols, graph.to(device).view().longest_row)) continue;
      SCOPED_TRACE(name + ", " + std::to_string(ncols) + " bits, " + std::to_string(weights) + " weights");
      CsrPattern there = graph.to(device);
      RowOrder order(there);
      fn(Operands(graph, ncols, weights, device), Graph{std::move(there), std::move(order)}, device);
    }
  }
}

const std::vector<std::pair<std::size_t, std::size_t>> few_weights{{64, 7},  {50, 1},   {128, 8}, {100, 9},
                                                                   {256, 7}, {230, 16}, {512, 3}};

TEST(FusedCuda, VotesAndAdds) {
  BITGRAPH_REQUIRE_CUDA();
  for_each_case(few_weights, [](const Operands& o, const Graph& g, const Device& device) {
    const Bits x = o.x.to(device);
    Bits own = o.own.to(device);
    Bits votes(own.nrows(), own.ncols(), device);
    vote_into({.votes = &votes}, g.a, g.order, x);
    EXPECT_EQ(votes.to(Device()), spmm<Bits>(o.a, o.x));
    vote_into({.own = &own, .votes = &own}, g.a, g.order, x);  // where they were
    EXPECT_EQ(own.to(Device()), o.votes());
    if (x.ncols() % 64 != 0) return;
    const Bits both = concat(x, o.own.to(device));
    vote_into({.own_beside = true, .votes = &votes}, g.a, g.order, both);
    EXPECT_EQ(votes.to(Device()), o.votes());
  });
}

TEST(FusedCuda, ScoresAndTheirSums) {
  BITGRAPH_REQUIRE_CUDA();
  for_each_case(few_weights, [](const Operands& o, const Graph& g, const Device& device) {
    const Bits votes = o.votes();
    const Bits x = o.x.to(device);
    const Bits own = o.own.to(device);
    const Bits w = o.w.to(device);
    const Bits w_own = o.w_own.to(device);
    const Buffer<float> scale = o.scale.to(device);
    const Buffer<float> bias = o.bias.to(device);
    const Buffer<float> row_scale = o.row_scale.to(device);
    const std::size_t n = x.nrows();
    Floats out(n, w.nrows(), device);
    RowScores scores(n, w.nrows(), x.ncols(), device);
    const GemmOptions linear{.col_scale = o.scale.span(), .bias = o.bias.span()};
    for (int repeat = 0; repeat < 2; ++repeat) {
      vote_into({.own = &own,
                 .scored = &w,
                 .scores = &scores,
                 .multiplied = &w_own,
                 .col_scale = scale.span(),
                 .bias = bias.span(),
                 .products = &out},
                g.a, g.order, x);
      const Floats products = gemm<Floats>(votes, o.w_own, linear);
      expect_equal(out.to(Device()), products);
      add_scores_into(out, g.a, g.order, scores,
                      {.row_scale = row_scale.span(), .col_scale = scale.span(), .bias = bias.span(), .add = true});
      const Floats sums = spmm<Floats>(o.a, gemm<Floats>(votes, o.w));  // whole numbers
      const Floats actual = out.to(Device());
      for (NodeId i = 0; i < n; ++i) {
        const auto entries = static_cast<float>(o.a.row(i).size());
        for (std::size_t f = 0; f < w.nrows(); ++f) {
          const float y = (sums(i, f) * o.scale[f] + entries * o.bias[f]) * o.row_scale[i];
          ASSERT_EQ(actual(i, f), y + products(i, f)) << i << ", " << f;
        }
      }
    }
  });
}

/// Sums of scaled products beside the same in double: floats that are added up differ by their rounding.
void expect_scaled_sums(const Floats& actual, const Operands& o, const Bits& x, std::span<const float> neighbor_scale) {
  const Floats products = gemm<Floats>(x, o.w, {.col_scale = o.scale.span()});
  for (NodeId i = 0; i < actual.nrows(); ++i) {
    for (std::size_t f = 0; f < actual.ncols(); ++f) {
      double sum = 0;
      double magnitudes = 0;
      for (const NodeId j : o.a.row(i)) {
        const auto scale = static_cast<double>(neighbor_scale[j]);
        const auto product = static_cast<double>(products(j, f));
        const auto bias = static_cast<double>(o.bias[f]);
        sum += scale * (product + bias);
        magnitudes += scale * (std::abs(product) + std::abs(bias));
      }
      const auto row_scale = static_cast<double>(o.row_scale[i]);
      ASSERT_NEAR(actual(i, f), row_scale * sum, 2e-6 * row_scale * magnitudes) << i << ", " << f;
    }
  }
}

/// What sums with a scale for each neighbour take, on the device.
struct ScaledOperands {
  ScaledOperands(const Operands& o, const Device& device)
      : neighbors(floats(o.x.nrows(), 11)),
        x(o.x.to(device)),
        w(o.w.to(device)),
        scale(o.scale.to(device)),
        bias(o.bias.to(device)),
        row_scale(o.row_scale.to(device)),
        neighbor_scale(neighbors.to(device)),
        out(x.nrows(), w.nrows(), device) {}

  [[nodiscard]] AggregateScales scales() const { return {row_scale.span(), scale.span(), bias.span()}; }

  /// `of` is what has been multiplied by the weights.
  void expect_sums(const Operands& o, const Bits& of) const {
    expect_scaled_sums(out.to(Device()), o, of, neighbors.span());
  }

  Buffer<float> neighbors;  ///< on the host
  Bits x, w;
  Buffer<float> scale, bias, row_scale, neighbor_scale;
  Floats out;
};

/// Nodes without neighbours vote for all bits, and so does the first weight: scores reach the number of bits.
TEST(FusedCuda, SumsOfScoresWithAScaleForEachNeighbor) {
  BITGRAPH_REQUIRE_CUDA();
  for_each_case({{64, 7}, {50, 1}, {128, 8}, {100, 9}, {256, 16}, {512, 3}},
                [](const Operands& o, const Graph& g, const Device& device) {
                  ScaledOperands there(o, device);
                  RowScores scores(there.x.nrows(), there.w.nrows(), there.x.ncols(), device);
                  vote_into({.scored = &there.w, .scores = &scores, .score_scale = there.neighbor_scale.span()}, g.a,
                            g.order, there.x);
                  add_scores_into(there.out, g.a, g.order, scores, there.scales());
                  there.expect_sums(o, spmm<Bits>(o.a, o.x));
                });
}

TEST(FusedCuda, SumsOfScaledScores) {
  BITGRAPH_REQUIRE_CUDA();
  for_each_case({{64, 12}, {50, 1}, {128, 41}, {100, 13}, {254, 60}, {250, 28}, {6, 29}, {128, 44}},
                [](const Operands& o, const Graph& g, const Device& device) {
                  ScaledOperands there(o, device);
                  ScaledScores scores(there.x.nrows(), there.w.nrows(), there.x.ncols(), device);
                  score_rows_into(scores, there.x, there.w, there.neighbor_scale.span());
                  add_scores_into(there.out, g.a, g.order, scores, there.scales());
                  there.expect_sums(o, o.x);
                  score_rows_into(scores, there.x, there.w);
                  add_scores_into(there.out, g.a, g.order, scores, {});
                  expect_equal(there.out.to(Device()), spmm<Floats>(o.a, gemm<Floats>(o.x, o.w)));  // whole numbers
                });
}

TEST(FusedCuda, VotesBehindOtherBits) {
  BITGRAPH_REQUIRE_CUDA();
  for_each_case({{64, 7}, {128, 16}, {256, 9}}, [](const Operands& o, const Graph& g, const Device& device) {
    const Bits x = o.x.to(device);
    const Bits before = o.before.to(device);
    const Bits w = o.w_both.to(device);
    const Buffer<float> scale = o.scale.to(device);
    const Buffer<float> bias = o.bias.to(device);
    Floats out(x.nrows(), w.nrows(), device);
    vote_into({.multiplied = &w, .before = &before, .col_scale = scale.span(), .bias = bias.span(), .products = &out},
              g.a, g.order, x);
    const Bits both = concat(o.before, spmm<Bits>(o.a, o.x));
    expect_equal(out.to(Device()), gemm<Floats>(both, o.w_both, {.col_scale = o.scale.span(), .bias = o.bias.span()}));
  });
}

TEST(FusedCuda, CountsTimesWeights) {
  BITGRAPH_REQUIRE_CUDA();
  for_each_case({{64, 7}, {50, 63}, {128, 41}, {100, 1}, {256, 40}, {512, 8}},
                [](const Operands& o, const Graph& g, const Device& device) {
                  const Bits x = o.x.to(device);
                  const Bits w = o.w.to(device);
                  const Bits w_own = o.w_own.to(device);
                  const Buffer<float> scale = o.scale.to(device);
                  const Buffer<float> bias = o.bias.to(device);
                  const Buffer<float> row_scale = o.row_scale.to(device);
                  Floats out(x.nrows(), w.nrows(), device);
                  const AggregateScales scales{row_scale.span(), scale.span(), bias.span()};
                  const Floats sums = binary_weight_gemm(spmm<Floats>(o.a, o.x), o.w);
                  const Floats own = gemm<Floats>(o.x, o.w_own, {.col_scale = o.scale.span(), .bias = o.bias.span()});
                  for (const bool with_own : {false, true, true}) {
                    OwnProduct product;
                    if (with_own) product = {&w_own, scale.span(), bias.span()};
                    multiply_counts_into(out, g.a, g.order, x, w, scales, product);
                    const Floats actual = out.to(Device());
                    for (NodeId i = 0; i < x.nrows(); ++i) {
                      const auto entries = static_cast<float>(o.a.row(i).size());
                      for (std::size_t f = 0; f < w.nrows(); ++f) {
                        const float y = (sums(i, f) * o.scale[f] + entries * o.bias[f]) * o.row_scale[i];
                        ASSERT_EQ(actual(i, f), with_own ? y + own(i, f) : y) << i << ", " << f;
                      }
                    }
                  }
                });
}

TEST(Fused, WhatHasNoKernelIsRefused) {
  EXPECT_TRUE(can_fuse(256, 5000));
  EXPECT_FALSE(can_fuse(192, 5000));
  EXPECT_TRUE(can_fuse(128, 130000));
  EXPECT_FALSE(can_fuse(256, 130000));
  EXPECT_FALSE(can_fuse_counts(256, 5000, 64));
  const CsrPattern a = test::grid_pattern(2, 2);
  const Bits x(4, 64);
  test::expect_error([&] { vote_into({}, a, RowOrder(a), x); }, ErrorCode::not_possible,
                     Device().name() + ": a fused vote or sum has no kernel for this device");
  ScaledScores scores(4, 7, 64, Device());
  test::expect_error([&] { score_rows_into(scores, x, Bits(7, 64)); }, ErrorCode::not_possible,
                     Device().name() + ": scores have no kernel for this device");
  EXPECT_TRUE(ScaledScores::can_hold(60, 254));
  EXPECT_FALSE(ScaledScores::can_hold(61, 254));
  EXPECT_FALSE(ScaledScores::can_hold(60, 256));
  EXPECT_FALSE(ScaledScores::can_hold(60, 101));
}

}  // namespace
}  // namespace bitgraph
