// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_product/sparse_product.hpp"

#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/ops/sparse_product.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;

TEST(SparseProduct, IsTheReferenceLoopEverywhere) {
  struct Shape {
    NodeId nrows, inner;
    std::size_t ncols;
  };
  for (const Shape& shape : {Shape{0, 3, 4}, Shape{1, 1, 1}, Shape{70, 0, 5}, Shape{67, 130, 7}, Shape{65, 40, 63},
                             Shape{129, 9, 64}, Shape{33, 50, 215}}) {
    const NodeId nrows = shape.nrows;
    const std::size_t ncols = shape.ncols;
    const CsrPattern x = test::random_pattern(nrows, shape.inner, 0.2, 1);
    const auto values = test::random_floats(x.nvals(), 2, -1, 1);
    const Floats w = test::random_dense(shape.inner, ncols, 3);
    std::vector<EdgeOffset> places(x.nvals());
    for (std::size_t e = 0; e < places.size(); ++e) places[e] = places.size() - 1 - e;
    const auto scale = test::random_floats(nrows, 4, -1, 1);
    const auto offset = test::random_floats(ncols, 5, -1, 1);
    const auto bias = test::random_floats(ncols, 6, -1, 1);
    for (const SparseProductOptions& options :
         {SparseProductOptions{}, SparseProductOptions{.places = places},
          SparseProductOptions{.row_scale = scale, .col_offset = offset, .bias = bias}}) {
      Floats expected(nrows, ncols);
      const auto or_nothing = [](auto span) { return span.empty() ? nullptr : span.data(); };
      sparse_product(Reference{}, SparseProductArgs{expected.view(), x.view(), values.data(), w.view(),
                                                    or_nothing(options.places), or_nothing(options.row_scale),
                                                    or_nothing(options.col_offset), or_nothing(options.bias)});
      test::everywhere([&](const Device& device) {
        Floats out = test::random_dense(nrows, ncols, 7).to(device);
        sparse_product_into(out, x, values, w.share(device), options);
        test::expect_identical(out.values(), expected.values());
      });
    }
  }
}

TEST(SparseProduct, TheGradientIsTheReferenceLoopEverywhere) {
  struct Shape {
    NodeId nrows, inner;
    std::size_t ncols, rows_of_g;
  };
  for (const Shape& shape : {Shape{0, 3, 4, 0}, Shape{1, 1, 1, 1}, Shape{70, 0, 5, 70}, Shape{67, 130, 7, 60},
                             Shape{65, 40, 63, 65}, Shape{129, 9, 64, 100}, Shape{33, 50, 215, 33}}) {
    const std::size_t inner = shape.inner;
    const std::size_t ncols = shape.ncols;
    const CsrPattern x = test::random_pattern(shape.nrows, shape.inner, 0.2, 1);
    const auto values = test::random_floats(x.nvals(), 2, -1, 1);
    const Floats g = test::random_dense(shape.rows_of_g, ncols, 3);
    Floats expected(inner, ncols);
    sparse_gradient(Reference{}, SparseGradientArgs{expected.view(), x.view(), values.data(), g.view()});
    test::everywhere([&](const Device& device) {
      Floats out = test::random_dense(inner, ncols, 7).to(device);
      sparse_gradient_into(out, x, values, g.share(device));
      test::expect_identical(out.values(), expected.values());
    });
  }
}

/// The rows of a sample as a matrix of their own, without what is not kept.
CsrMatrix<float> rows_of(const CsrMatrix<float>& all, std::span<const NodeId> nodes, const BitMatrix<ZeroOne>* keep,
                         float scale) {
  std::vector<EdgeOffset> row_ptr{0};
  std::vector<NodeId> columns;
  std::vector<float> values;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto row = all.pattern().row(nodes[i]);
    for (std::size_t e = 0; e < row.size(); ++e) {
      if (keep != nullptr && !keep->bit(i, row[e])) continue;
      columns.push_back(row[e]);
      values.push_back(scale * all.row_values(nodes[i])[e]);
    }
    row_ptr.push_back(columns.size());
  }
  return {CsrPattern(static_cast<NodeId>(nodes.size()), all.ncols(), Buffer<EdgeOffset>::copy_of(row_ptr, Device()),
                     Buffer<NodeId>::copy_of(columns, Device())),
          Buffer<float>::copy_of(values, Device())};
}

void expect_near(const Floats& actual, const Floats& expected) {
  const Floats here = actual.to(Device());
  for (std::size_t n = 0; n < expected.values().size(); ++n) ASSERT_NEAR(here.values()[n], expected.values()[n], 1e-4);
}

TEST(SparseProductCuda, SamplesGiveTheProductAndGradientOfTheirRows) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  struct Shape {
    NodeId nrows, inner;
    std::size_t sampled, ncols, rows_of_g;
  };
  for (const Shape& shape : {Shape{1, 1, 1, 1, 1}, Shape{500, 130, 300, 7, 200}, Shape{65, 40, 65, 128, 65},
                             Shape{900, 9, 700, 129, 700}, Shape{33, 50, 12, 300, 0}}) {
    CsrPattern pattern = test::random_pattern(shape.nrows, shape.inner, 0.3, 1);
    auto values = Buffer<float>::copy_of(test::random_floats(pattern.nvals(), 2, -1, 1), Device());
    const CsrMatrix<float> all(std::move(pattern), std::move(values));
    std::vector<NodeId> nodes(shape.nrows);
    for (NodeId i = 0; i < shape.nrows; ++i) nodes[i] = (i * 7U + 3U) % shape.nrows;  // 7 divides none of these
    nodes.resize(shape.sampled);
    const auto keep = test::random_bits<ZeroOne>(shape.sampled, shape.inner, 3);
    const Floats w = test::random_dense(shape.inner, shape.ncols, 4);
    const Floats g = test::random_dense(shape.rows_of_g, shape.ncols, 5);
    const auto bias = Buffer<float>::copy_of(test::random_floats(shape.ncols, 6, -1, 1), Device());
    const SparseBothWays there(all, device);
    const auto nodes_there = Buffer<NodeId>::copy_of(nodes, device);
    const auto keep_there = keep.to(device);
    for (const bool dropped : {false, true}) {
      const CsrMatrix<float> rows = rows_of(all, nodes, dropped ? &keep : nullptr, 2);
      const SparseSample sample{&there, nodes_there.span(), dropped ? &keep_there : nullptr, 2};
      Floats expected(shape.sampled, shape.ncols);
      sparse_product_into(expected, rows.pattern(), rows.values(), w, {.bias = bias.span()});
      Floats out(shape.sampled, shape.ncols, device);
      const Buffer<float> bias_there = bias.to(device);
      sparse_product_into(out, sample, w.to(device), bias_there.span());
      expect_near(out, expected);
      Floats gradient(shape.inner, shape.ncols);
      sparse_gradient_into(gradient, rows.pattern(), rows.values(), g);
      Floats made(shape.inner, shape.ncols, device);
      sparse_gradient_into(made, sample, g.to(device));
      expect_near(made, gradient);
      Floats again(shape.inner, shape.ncols, device);
      sparse_gradient_into(again, sample, g.to(device));
      test::expect_identical(again.to(Device()).values(), made.to(Device()).values());
    }
  }
}

TEST(SparseProduct, SamplesAreForDevices) {
  const CsrPattern pattern = test::random_pattern(4, 5, 0.5, 1);
  const CsrMatrix<float> matrix(pattern.clone(), Buffer<float>(pattern.nvals(), 1.0F));
  const SparseBothWays all(matrix, Device());
  EXPECT_EQ(all.columns.pattern(), transpose(pattern));
  const std::vector<NodeId> nodes{1, 2};
  Floats out(2, 3);
  test::expect_error(
      [&] {
        sparse_product_into(out, {&all, nodes}, Floats(5, 3));
      },
      ErrorCode::not_possible, Device().name() + ": sampled product has no kernel for this device");
  test::expect_error(
      [&] {
        sparse_product_into(out, {&all, nodes}, Floats(4, 3));
      },
      ErrorCode::usage, "sampled product: X is 2 x 5, the operands are 2 x 3 and 4 x 3");
}

TEST(SparseProduct, RefusesWhatDoesNotFit) {
  const CsrPattern x = test::random_pattern(4, 5, 0.5, 1);
  const std::vector<float> values(x.nvals(), 1);
  Floats out(4, 3);
  EXPECT_THROW(sparse_product_into(out, x, values, Floats(4, 3)), Error);
  EXPECT_THROW(sparse_product_into(out, x, std::span(values).first(1), Floats(5, 3)), Error);
  EXPECT_THROW(sparse_gradient_into(out, x, values, Floats(4, 3)), Error);
  EXPECT_THROW(sparse_product_into(out, x, values, Floats(5, 3), {.bias = std::span(values).first(1)}), Error);
}

}  // namespace
}  // namespace bitgraph
