// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_product/sparse_product.hpp"

#include "support/everywhere.hpp"
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
