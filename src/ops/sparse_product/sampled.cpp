// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_product/sparse_product.hpp"

#include <bitgraph/ops/sparse_product.hpp>

#include "formats/pattern/transpose_index.hpp"
#include "ops/operands.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace bitgraph {

namespace {

/// The transpose with its values.
CsrMatrix<float> transposed(const CsrMatrix<float>& a) {
  Buffer<NodeId> rows(a.nvals());
  Buffer<float> values(a.nvals());
  const CsrPattern& pattern = a.pattern();
  Buffer<EdgeOffset> row_ptr =
      transpose_index(pattern.device(), {a.nrows(), a.ncols(), pattern.row_ptr(), pattern.col_ind()},
                      [&](EdgeOffset from, EdgeOffset to, NodeId i) {
                        rows[to] = i;
                        values[to] = a.values()[from];
                      });
  return {CsrPattern(a.ncols(), a.nrows(), std::move(row_ptr), std::move(rows), trusted), std::move(values)};
}

void check_sample(const char* op, const Device& device, const SparseSample& x, const DenseMatrix<float>& of_rows,
                  const DenseMatrix<float>& of_columns) {
  const CsrPattern& all = x.all->rows.pattern();
  if (of_rows.nrows() > x.nodes.size() || of_columns.nrows() != all.ncols() || of_rows.ncols() != of_columns.ncols()) {
    fail(ErrorCode::usage,
         fmt::format("{}: X is {} x {}, the operands are {} x {} and {} x {}", op, x.nodes.size(), all.ncols(),
                     of_rows.nrows(), of_rows.ncols(), of_columns.nrows(), of_columns.ncols()));
  }
  if (x.keep != nullptr && (x.keep->nrows() < of_rows.nrows() || x.keep->ncols() != all.ncols())) {
    fail(ErrorCode::usage, fmt::format("{}: {} x {} bits say what is kept of {} x {}", op, x.keep->nrows(),
                                       x.keep->ncols(), of_rows.nrows(), all.ncols()));
  }
  check_place(op, device, all.device(), "X");
  check_device(op, of_rows.device(), of_columns.device(), "an operand");
}

BitMatrixView<ZeroOne> kept(const SparseSample& x) {
  return x.keep == nullptr ? BitMatrixView<ZeroOne>{} : x.keep->view();
}

}  // namespace

SparseBothWays::SparseBothWays(const CsrMatrix<float>& matrix, const Device& device) {
  const CsrMatrix<float> by_column = transposed(matrix);
  std::vector<NodeId> column_of;
  std::vector<EdgeOffset> first{0};
  for (NodeId j = 0; j < by_column.nrows(); ++j) {
    const EdgeOffset parts = (by_column.pattern().row(j).size() + part_entries - 1) / part_entries;
    column_of.insert(column_of.end(), parts, j);
    first.push_back(column_of.size());
  }
  rows = matrix.to(device);
  columns = by_column.to(device);
  part_column = Buffer<NodeId>::copy_of(column_of, device);
  part = Buffer<EdgeOffset>::copy_of(first, device);
}

void sparse_product_into(DenseMatrix<float>& out, const SparseSample& x, const DenseMatrix<float>& w,
                         std::span<const float> bias) {
  constexpr const char* op = "sampled product";
  check_sample(op, out.device(), x, out, w);
  check_length(op, bias, w.ncols(), "bias");
  const BitMatrixView<ZeroOne> keep = kept(x);
  with_cuda(out.device(), op, [&](const auto& cuda) {
    sampled_product(cuda, {.out = out.view(),
                           .x = x.all->rows.pattern().view(),
                           .values = x.all->rows.values().data(),
                           .nodes = x.nodes.data(),
                           .keep = keep,
                           .scale = x.scale,
                           .w = w.view(),
                           .bias = or_null(bias)});
  });
}

void sparse_gradient_into(DenseMatrix<float>& out, const SparseSample& x, const DenseMatrix<float>& g) {
  constexpr const char* op = "sampled gradient";
  check_sample(op, out.device(), x, g, out);
  const BitMatrixView<ZeroOne> keep = kept(x);
  with_cuda(out.device(), op, [&](const auto& cuda) {
    sampled_gradient(cuda, {.out = out.view(),
                            .columns = x.all->columns.pattern().view(),
                            .values = x.all->columns.values().data(),
                            .part_column = x.all->part_column.data(),
                            .part = x.all->part.data(),
                            .parts = x.all->part_column.size(),
                            .nodes = x.nodes.data(),
                            .keep = keep,
                            .scale = x.scale,
                            .g = g.view()});
  });
}

}  // namespace bitgraph
