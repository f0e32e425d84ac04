// SPDX-License-Identifier: Apache-2.0
// The kernels of include/bitgraph/ops/dense.hpp on a CUDA device, which dense.cpp names in a build with CUDA.
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include "core/backend.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// How the rows of a sum over columns are cut into parts.
struct ColumnParts {
  std::size_t rows;
  std::size_t count;

  explicit ColumnParts(std::size_t nrows)
      : rows(std::max<std::size_t>(128, (nrows + 511) / 512)), count((nrows + rows - 1) / rows) {}
};

struct ExpandArgs {
  DenseView<float> out;
  BitMatrixView<PlusMinusOne> x;
  const float* row_scale = nullptr;  ///< null: ones
  BitMatrixView<ZeroOne> keep;       ///< words null: all
};

void accumulate(const Cuda& backend, DenseView<float> out, DenseView<const float> x, float alpha, float beta);
void maximum(const Cuda& backend, DenseView<float> y, DenseView<const float> x);
void scale_rows(const Cuda& backend, DenseView<float> x, const float* scale);
/// Rows of words of 4 or 8 bytes; `rows` lies on the host.
void gather_rows(const Cuda& backend, DenseView<std::uint32_t> out, DenseView<const std::uint32_t> x,
                 const NodeId* rows);
void gather_rows(const Cuda& backend, DenseView<std::uint64_t> out, DenseView<const std::uint64_t> x,
                 const NodeId* rows);
void column_sums(const Cuda& backend, float* out, DenseView<const float> x);
void expand(const Cuda& backend, const ExpandArgs& args);

}  // namespace bitgraph
