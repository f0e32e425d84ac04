// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_product/sparse_product.hpp"

#include <bitgraph/ops/sparse_product.hpp>

#include "ops/operands.hpp"

namespace bitgraph {

void sparse_product_into(DenseMatrix<float>& out, const CsrPattern& x, std::span<const float> values,
                         const DenseMatrix<float>& w, const SparseProductOptions& options) {
  constexpr const char* op = "sparse product";
  if (out.nrows() > x.nrows() || x.ncols() != w.nrows() || out.ncols() != w.ncols()) {
    fail(ErrorCode::usage, fmt::format("{}: X is {} x {}, W is {} x {}, the output is {} x {}", op, x.nrows(),
                                       x.ncols(), w.nrows(), w.ncols(), out.nrows(), out.ncols()));
  }
  check_device(op, out.device(), w.device(), "W");
  check_place(op, out.device(), x.device(), "X");
  if (values.size() != x.nvals())
    fail(ErrorCode::usage, fmt::format("{}: {} values for {} entries", op, values.size(), x.nvals()));
  if (!options.places.empty() && options.places.size() != values.size())
    fail(ErrorCode::usage, fmt::format("{}: {} places of {} values", op, options.places.size(), values.size()));
  if (!options.row_scale.empty() && options.row_scale.size() < out.nrows())
    fail(ErrorCode::usage, fmt::format("{}: {} scales for {} rows", op, options.row_scale.size(), out.nrows()));
  check_length(op, options.col_offset, w.ncols(), "col_offset");
  check_length(op, options.bias, w.ncols(), "bias");
  const SparseProductArgs args{out.view(),
                               x.view(),
                               values.data(),
                               w.view(),
                               options.places.empty() ? nullptr : options.places.data(),
                               or_null(options.row_scale),
                               or_null(options.col_offset),
                               or_null(options.bias)};
  with_host_backend(out.device(), op, [&](const auto& backend) { sparse_product(backend, args); });
}

void sparse_gradient_into(DenseMatrix<float>& out, const CsrPattern& x, std::span<const float> values,
                          const DenseMatrix<float>& g) {
  constexpr const char* op = "sparse gradient";
  if (g.nrows() > x.nrows() || x.ncols() != out.nrows() || out.ncols() != g.ncols()) {
    fail(ErrorCode::usage, fmt::format("{}: X is {} x {}, G is {} x {}, the output is {} x {}", op, x.nrows(),
                                       x.ncols(), g.nrows(), g.ncols(), out.nrows(), out.ncols()));
  }
  check_device(op, out.device(), g.device(), "G");
  check_place(op, out.device(), x.device(), "X");
  if (values.size() != x.nvals())
    fail(ErrorCode::usage, fmt::format("{}: {} values for {} entries", op, values.size(), x.nvals()));
  const SparseGradientArgs args{out.view(), x.view(), values.data(), g.view()};
  with_host_backend(out.device(), op, [&](const auto& backend) { sparse_gradient(backend, args); });
}

}  // namespace bitgraph
