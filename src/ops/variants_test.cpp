// SPDX-License-Identifier: Apache-2.0
// Every operator of BitGNN's Figure 2 by its name, on every backend: the seven BMM, the eight BSpMM, the ADD, CONCAT,
// and the pairs of its high-level functions; against loops over the values that the bits stand for.
#include "ops/binarize/binarize.hpp"
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/formats/weight_factors.hpp>
#include <bitgraph/ops/add.hpp>
#include <bitgraph/ops/binarize.hpp>
#include <bitgraph/ops/concat.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/spmm.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

namespace bitgraph {
namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;
constexpr NodeId nodes = 75;
constexpr std::size_t inputs = 100;
constexpr std::size_t hidden = 70;
constexpr std::size_t outputs = 9;

float value(const Bits& x, std::size_t i, std::size_t j) { return x.value(i, j); }
float value(const Floats& x, std::size_t i, std::size_t j) { return x(i, j); }
void set(Bits& x, std::size_t i, std::size_t j, float y) { x.set_bit(i, j, y >= 0); }
void set(Floats& x, std::size_t i, std::size_t j, float y) { x(i, j) = y; }

template <class X>
X random(std::size_t nrows, std::size_t ncols, std::uint64_t seed) {
  if constexpr (std::is_same_v<X, Bits>) {
    return test::random_bits(nrows, ncols, seed);
  } else {
    return test::random_dense(nrows, ncols, seed);
  }
}

void expect_same(const Bits& actual, const Bits& expected) {
  EXPECT_TRUE(actual == expected);
  EXPECT_TRUE(test::padding_is_zero(actual));
}
void expect_same(const Floats& actual, const Floats& expected) {
  test::expect_identical(actual.values(), expected.values());
}

/// body(device) on the host, everywhere, and on a CUDA device where there is one.
template <class Body>
void on_every_backend(const Body& body) {
  test::everywhere(body);
  if (test::cuda_device()) {
    SCOPED_TRACE("CUDA");
    body(*test::cuda_device());
  }
}

/// Values on a device, or none.
Buffer<float> random_scale(bool wanted, std::size_t size, std::uint64_t seed, const Device& device) {
  return wanted ? Buffer<float>::copy_of(test::random_floats(size, seed, -0.5F, 2), device) : Buffer<float>(0, device);
}

/// A binary operand's signs, and what a full-precision one is binarized to.
struct Operand {
  explicit Operand(const Bits& x) : signs(x.clone()) {}
  explicit Operand(const Floats& x) : signs(x.nrows(), x.ncols()), alpha(x.nrows()) {
    binarize(Reference{}, BinarizeArgs{x.view(), nullptr, nullptr, signs.view(), alpha.data()});
  }
  /// alpha times the given scale of row i, where there are any.
  [[nodiscard]] float scaled(const Buffer<float>& given, std::size_t i, float y) const {
    if (alpha.empty() && given.empty()) return y;
    float scale = alpha.empty() ? given[i] : alpha[i];
    if (!alpha.empty() && !given.empty()) scale *= given[i];
    return y * scale;
  }
  Bits signs;
  Buffer<float> alpha;
};

template <class Out>
Out expected_product(const Operand& x, const Operand& w, const Buffer<float>& row, const Buffer<float>& col,
                     const Buffer<float>& bias) {
  Out out(x.signs.nrows(), w.signs.nrows());
  for (std::size_t i = 0; i < out.nrows(); ++i) {
    for (std::size_t f = 0; f < out.ncols(); ++f) {
      float s = 0;
      for (std::size_t j = 0; j < x.signs.ncols(); ++j) s += x.signs.value(i, j) * w.signs.value(f, j);
      const float y = x.scaled(row, i, w.scaled(col, f, s));
      set(out, i, f, bias.empty() ? y : y + bias[f]);
    }
  }
  return out;
}

/// BMM: x, w and out of the types that its suffix names.
template <class X, class W, class Out>
void check_bmm() {
  const X x = random<X>(nodes, inputs, 1);
  const W w = random<W>(hidden, inputs, 2);
  for (const bool scaled : {false, true}) {
    const auto scale = [&](std::size_t size, std::uint64_t seed, const Device& device) {
      return random_scale(scaled, size, seed, device);
    };
    const Out expected =
        expected_product<Out>(Operand(x), Operand(w), scale(nodes, 3, {}), scale(hidden, 4, {}), scale(hidden, 5, {}));
    on_every_backend([&](const Device& device) {
      const auto row = scale(nodes, 3, device);
      const auto col = scale(hidden, 4, device);
      const auto bias = scale(hidden, 5, device);
      const Out out =
          gemm<Out>(x.to(device), w.to(device), {row.span(), col.span(), bias.span(), nullptr}).to(Device{});
      expect_same(out, expected);
    });
  }
}

TEST(Figure2, BmmBBB) { check_bmm<Bits, Bits, Bits>(); }
TEST(Figure2, BmmBBF) { check_bmm<Bits, Bits, Floats>(); }
TEST(Figure2, BmmBFB) { check_bmm<Bits, Floats, Bits>(); }
TEST(Figure2, BmmBFF) { check_bmm<Bits, Floats, Floats>(); }
TEST(Figure2, BmmFBB) { check_bmm<Floats, Bits, Bits>(); }
TEST(Figure2, BmmFBF) { check_bmm<Floats, Bits, Floats>(); }
TEST(Figure2, BmmFFB) { check_bmm<Floats, Floats, Bits>(); }

/// The graph of the second letter: B, a pattern; F, one whose weights are factors of rows and columns.
enum class GraphKind { binary, weighted };

template <class Out, class In>
Out expected_aggregation(const CsrPattern& a, const In& x, const Buffer<float>& row, const Buffer<float>& col) {
  Out out(a.nrows(), x.ncols());
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (std::size_t f = 0; f < x.ncols(); ++f) {
      float sum = 0;
      for (const NodeId j : a.row(i)) sum += col.empty() ? value(x, j, f) : col[j] * value(x, j, f);
      set(out, i, f, row.empty() ? sum : row[i] * sum);
    }
  }
  return out;
}

/// BSpMM over pattern CSR and tiles of every side.
template <class In, GraphKind kGraph, class Out>
void check_bspmm() {
  constexpr bool weighted = kGraph == GraphKind::weighted;
  const CsrPattern a = test::random_pattern(nodes, nodes, 0.08, 1);
  const In x = random<In>(nodes, hidden, 2);
  const Out expected =
      expected_aggregation<Out>(a, x, random_scale(weighted, nodes, 3, {}), random_scale(weighted, nodes, 4, {}));
  on_every_backend([&](const Device& device) {
    const auto row = random_scale(weighted, nodes, 3, device);
    const auto col = random_scale(weighted, nodes, 4, device);
    const SpmmOptions options{.row_scale = row.span(), .col_scale = col.span()};
    const In there = x.to(device);
    expect_same(spmm<Out>(a.to(device), there, options).to(Device{}), expected);
    for (const int k : tile_dims) {
      SCOPED_TRACE("tiles of " + std::to_string(k));
      expect_same(spmm<Out>(pack(a, {.tile_dim = k}).to(device), there, options).to(Device{}), expected);
    }
  });
}

TEST(Figure2, BspmmBBB) { check_bspmm<Bits, GraphKind::binary, Bits>(); }
TEST(Figure2, BspmmBBF) { check_bspmm<Bits, GraphKind::binary, Floats>(); }
TEST(Figure2, BspmmBFB) { check_bspmm<Bits, GraphKind::weighted, Bits>(); }
TEST(Figure2, BspmmBFF) { check_bspmm<Bits, GraphKind::weighted, Floats>(); }
TEST(Figure2, BspmmFBB) { check_bspmm<Floats, GraphKind::binary, Bits>(); }
TEST(Figure2, BspmmFBF) { check_bspmm<Floats, GraphKind::binary, Floats>(); }
TEST(Figure2, BspmmFFB) { check_bspmm<Floats, GraphKind::weighted, Bits>(); }
TEST(Figure2, BspmmFFF) { check_bspmm<Floats, GraphKind::weighted, Floats>(); }

template <class In, class Out>
void check_add() {
  const In a = random<In>(nodes, hidden, 1);
  const In b = random<In>(nodes, hidden, 2);
  Out expected(nodes, hidden);
  for (std::size_t i = 0; i < nodes; ++i) {
    for (std::size_t f = 0; f < hidden; ++f) set(expected, i, f, value(a, i, f) + value(b, i, f));
  }
  on_every_backend(
      [&](const Device& device) { expect_same(add<Out>(a.to(device), b.to(device)).to(Device{}), expected); });
}

TEST(Figure2, AddBBB) { check_add<Bits, Bits>(); }
TEST(Figure2, AddBBF) { check_add<Bits, Floats>(); }
TEST(Figure2, AddFFB) { check_add<Floats, Bits>(); }
TEST(Figure2, AddFFF) { check_add<Floats, Floats>(); }

template <class X>
void check_concat() {
  const X a = random<X>(nodes, hidden, 1);
  const X b = random<X>(nodes, inputs, 2);
  X expected(nodes, hidden + inputs);
  for (std::size_t i = 0; i < nodes; ++i) {
    for (std::size_t f = 0; f < hidden; ++f) set(expected, i, f, value(a, i, f));
    for (std::size_t f = 0; f < inputs; ++f) set(expected, i, hidden + f, value(b, i, f));
  }
  on_every_backend(
      [&](const Device& device) { expect_same(concat(a.to(device), b.to(device)).to(Device{}), expected); });
}

TEST(Figure2, ConcatB) { check_concat<Bits>(); }
TEST(Figure2, ConcatF) { check_concat<Floats>(); }

/// A convolution: a product whose result goes on to an aggregation, on the device that it was made on.
template <class X, class Between, class Out>
void check_pair() {
  const CsrPattern a = test::random_pattern(nodes, nodes, 0.08, 1);
  const X x = random<X>(nodes, inputs, 2);
  const Bits w = random<Bits>(outputs, inputs, 3);
  const Buffer<float> none;
  const auto between = expected_product<Between>(Operand(x), Operand(w), none, none, none);
  const auto expected = expected_aggregation<Out>(a, between, none, none);
  on_every_backend([&](const Device& device) {
    const auto products = gemm<Between>(x.to(device), w.to(device));
    expect_same(spmm<Out>(a.to(device), products).to(Device{}), expected);
  });
}

TEST(Figure2, BmmFBBWithBspmmBBB) { check_pair<Floats, Bits, Bits>(); }
TEST(Figure2, BmmFBFWithBspmmFBB) { check_pair<Floats, Floats, Bits>(); }
TEST(Figure2, BmmBBFWithBspmmFBF) { check_pair<Bits, Floats, Floats>(); }
TEST(Figure2, BmmBBBWithBspmmBBF) { check_pair<Bits, Bits, Floats>(); }

/// X W1 + mean over the neighbours of X W2: a layer of SAGE.
template <class Between, class Out>
void check_sum_of_products() {
  const CsrPattern a = test::random_pattern(nodes, nodes, 0.08, 1);
  const Bits x = random<Bits>(nodes, inputs, 2);
  const Bits own = random<Bits>(hidden, inputs, 3);
  const Bits others = random<Bits>(hidden, inputs, 4);
  const Buffer<float> none;
  const auto mean = random_scale(true, nodes, 5, {});
  const auto left = expected_product<Between>(Operand(x), Operand(own), none, none, none);
  const auto product = expected_product<Between>(Operand(x), Operand(others), none, none, none);
  const auto right = expected_aggregation<Between>(a, product, mean, none);
  Out expected(nodes, hidden);
  for (std::size_t i = 0; i < nodes; ++i) {
    for (std::size_t f = 0; f < hidden; ++f) set(expected, i, f, value(left, i, f) + value(right, i, f));
  }
  on_every_backend([&](const Device& device) {
    const auto scale = mean.to(device);
    const auto bits = x.to(device);
    const auto aggregated =
        spmm<Between>(a.to(device), gemm<Between>(bits, others.to(device)), {.row_scale = scale.span()});
    const auto sum = add<Out>(gemm<Between>(bits, own.to(device)), aggregated);
    expect_same(sum.to(Device{}), expected);
  });
}

TEST(Figure2, BmmWithAddBBF) { check_sum_of_products<Bits, Floats>(); }
TEST(Figure2, BmmWithAddFFF) { check_sum_of_products<Floats, Floats>(); }
TEST(Figure2, BmmWithAddOfSigns) { check_sum_of_products<Bits, Bits>(); }
TEST(Figure2, BmmWithAddFFFAndSigns) { check_sum_of_products<Floats, Bits>(); }

/// BIN behind SCL: of positive scales nothing is left, on the host where they are seen to be positive, on a device
/// where that is promised.
TEST(ScalesAheadOfASign, AreDroppedWherePositive) {
  const CsrPattern a = test::random_pattern(nodes, nodes, 0.08, 1);
  const Bits x = random<Bits>(nodes, inputs, 2);
  const Bits w = random<Bits>(hidden, inputs, 3);
  const Bits product = gemm<Bits>(x, w);
  const Bits vote = spmm<Bits>(a, product);
  on_every_backend([&](const Device& device) {
    const auto row = Buffer<float>::copy_of(test::random_floats(nodes, 4, 1e-30F, 3), device);
    const auto col = Buffer<float>::copy_of(test::random_floats(hidden, 5, 1e-3F, 1e30F), device);
    const Bits bits = x.to(device);
    const CsrPattern graph = a.to(device);
    for (const bool promised : {false, true}) {
      const Bits scaled = gemm<Bits>(bits, w.to(device),
                                     {.row_scale = row.span(), .col_scale = col.span(), .positive_scales = promised});
      expect_same(scaled.to(Device{}), product);
      const Bits votes = spmm<Bits>(
          graph, scaled, {.row_scale = row.span(), .feature_scale = col.span(), .positive_scales = promised});
      expect_same(votes.to(Device{}), vote);
    }
  });
}

TEST(ScalesAheadOfASign, CountWhereTheyAreNotPositiveOrSomethingIsAdded) {
  const CsrPattern a = test::random_pattern(nodes, nodes, 0.08, 1);
  const Floats x = random<Floats>(nodes, hidden, 2);
  auto scale = test::random_floats(nodes, 3, 0.5F, 2);
  const auto bias = test::random_floats(hidden, 4, -1, 1);
  scale[3] = -1;
  scale[5] = 0;
  Floats zeros = random<Floats>(nodes, inputs, 5);
  for (float& value : zeros.row(7)) value = 0;
  const Bits w = random<Bits>(hidden, inputs, 6);
  const auto signs = expected_aggregation<Bits>(a, x, Buffer<float>::copy_of(scale), Buffer<float>(0));
  on_every_backend([&](const Device& device) {
    const auto row = Buffer<float>::copy_of(scale, device);
    const auto added = Buffer<float>::copy_of(bias, device);
    const Bits out = spmm<Bits>(a.to(device), x.to(device), {.row_scale = row.span()}).to(Device{});
    expect_same(out, signs);
    const SpmmOptions options{.row_scale = row.span(), .feature_offset = added.span(), .bias = added.span()};
    const Floats sums = spmm<Floats>(a.to(device), x.to(device), options).to(Device{});
    const Bits votes = spmm<Bits>(a.to(device), x.to(device), options).to(Device{});
    expect_same(votes, binarize(sums).bits);
    const Bits of_zeros = gemm<Bits>(zeros.to(device), w.to(device)).to(Device{});
    for (std::size_t f = 0; f < hidden; ++f) EXPECT_TRUE(of_zeros.bit(7, f)) << "a row of zeros has the scale 0";
  });
}

/// A graph saved with weights that factor: bits and two vectors instead.
TEST(WeightedAdjacency, IsItsPatternBetweenItsFactors) {
  const CsrPattern a = test::rmat_pattern(7, 900, 1);
  Buffer<float> weights(a.nvals());
  const auto scale = [&](NodeId i) { return 1 / std::sqrt(static_cast<float>(a.row(i).size())); };
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (EdgeOffset e = a.row_ptr()[i]; e < a.row_ptr()[i + 1]; ++e) weights[e] = scale(i) * scale(a.col_ind()[e]);
  }
  const Floats x = random<Floats>(a.ncols(), hidden, 2);
  Floats expected(a.nrows(), hidden);
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (EdgeOffset e = a.row_ptr()[i]; e < a.row_ptr()[i + 1]; ++e) {
      for (std::size_t f = 0; f < hidden; ++f) expected(i, f) += weights[e] * x(a.col_ind()[e], f);
    }
  }
  const WeightFactors factors = factor_weights(CsrMatrix<float>(a.clone(), std::move(weights)));
  on_every_backend([&](const Device& device) {
    const auto row = factors.row.to(device);
    const auto col = factors.col.to(device);
    const Floats y =
        spmm<Floats>(a.to(device), x.to(device), {.row_scale = row.span(), .col_scale = col.span()}).to(Device{});
    for (std::size_t n = 0; n < y.values().size(); ++n) ASSERT_NEAR(y.values()[n], expected.values()[n], 1e-5F);
  });
}

}  // namespace
}  // namespace bitgraph
