// SPDX-License-Identifier: Apache-2.0
#include "ops/binarize/binarize.hpp"

#include <bitgraph/ops/binarize.hpp>

#include "core/threads/parallel.hpp"
#include "ops/operands.hpp"

#include <fmt/format.h>

#include <cmath>

namespace bitgraph {

namespace {

void check(std::size_t ncols, const ColumnMap& map) {
  for (const auto values : {map.shift, map.scale}) {
    if (!values.empty() && values.size() != ncols) {
      fail(ErrorCode::usage, fmt::format("binarize: a column map of {} values for {} columns", values.size(), ncols));
    }
  }
}

}  // namespace

void binarize_into(Binarized& out, const DenseMatrix<float>& x, const ColumnMap& map) {
  const Device& device = out.bits.device();
  check(x.ncols(), map);
  if (out.bits.nrows() != x.nrows() || out.bits.ncols() != x.ncols() || out.alpha.size() != x.nrows()) {
    fail(ErrorCode::usage, fmt::format("binarize: X is {} x {}, the output is {} x {} with {} scales", x.nrows(),
                                       x.ncols(), out.bits.nrows(), out.bits.ncols(), out.alpha.size()));
  }
  check_device("binarize", device, x.device(), "X");
  check_device("binarize", device, out.alpha.device(), "the output");
  const BinarizeArgs args{x.view(), or_null(map.shift), or_null(map.scale), out.bits.view(), out.alpha.data()};
  with_backend(device, "binarize", [&](const auto& backend) { binarize(backend, args); });
}

Binarized binarize(const DenseMatrix<float>& x, const ColumnMap& map) {
  const Device& device = x.device();
  Binarized out{BitMatrix<PlusMinusOne>(x.nrows(), x.ncols(), device), Buffer<float>(x.nrows(), device)};
  binarize_into(out, x, map);
  return out;
}

SparseBinarized binarize(const CsrPattern& pattern, std::span<const float> values, const ColumnMap& map) {
  SparseBinarized out{{}, Buffer<float>(pattern.nrows(), pattern.device())};
  binarize_into(out, pattern, values, map);
  return out;
}

void binarize_into(SparseBinarized& out, const CsrPattern& pattern, std::span<const float> values,
                   const ColumnMap& map) {
  const Device& device = out.alpha.device();
  const std::size_t ncols = pattern.ncols();
  check(ncols, map);
  if (values.size() != pattern.nvals()) {
    fail(ErrorCode::usage, fmt::format("binarize: {} values for {} entries", values.size(), pattern.nvals()));
  }
  if (!pattern.device().is_host()) {
    fail(ErrorCode::not_possible, pattern.device().name() + ": no binarize of sparse X for this device");
  }
  const auto z = [&](float x, std::size_t j) {
    if (!map.shift.empty()) x -= map.shift[j];
    return map.scale.empty() ? x : x * map.scale[j];
  };
  check_device("binarize", device, pattern.device(), "X");
  require(out.alpha.size() == pattern.nrows(), "binarize: alpha has a value for each row");
  out.bits.base = BitMatrix<PlusMinusOne>(1, ncols, device);
  double zeros = 0;
  for (std::size_t j = 0; j < ncols; ++j) {
    out.bits.base.set_bit(0, j, z(0, j) >= 0);
    zeros += std::fabs(z(0, j));
  }
  Buffer<EdgeOffset> row_ptr(std::size_t{pattern.nrows()} + 1, EdgeOffset{0}, device);
  const auto flips = [&](EdgeOffset e) {
    const NodeId j = pattern.col_ind()[e];
    return (z(values[e], j) >= 0) != out.bits.base.bit(0, j);
  };
  parallel_for(device, pattern.nrows(), 256, [&](std::size_t i) {
    double sum = zeros;
    for (EdgeOffset e = pattern.row_ptr()[i]; e < pattern.row_ptr()[i + 1]; ++e) {
      const NodeId j = pattern.col_ind()[e];
      sum += static_cast<double>(std::fabs(z(values[e], j))) - std::fabs(z(0, j));
      row_ptr[i] += flips(e) ? 1U : 0U;
    }
    out.alpha[i] = ncols == 0 ? 0.0F : static_cast<float>(sum / static_cast<double>(ncols));
  });
  Buffer<NodeId> col_ind(exclusive_scan(device, row_ptr.span()), device);
  parallel_for(device, pattern.nrows(), 256, [&](std::size_t i) {
    NodeId* to = col_ind.data() + row_ptr[i];
    for (EdgeOffset e = pattern.row_ptr()[i]; e < pattern.row_ptr()[i + 1]; ++e) {
      if (flips(e)) *to++ = pattern.col_ind()[e];
    }
  });
  out.bits.flips = CsrPattern(pattern.nrows(), pattern.ncols(), std::move(row_ptr), std::move(col_ind), trusted);
}

}  // namespace bitgraph
