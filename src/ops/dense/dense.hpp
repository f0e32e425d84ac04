// SPDX-License-Identifier: Apache-2.0
// The kernels of include/bitgraph/ops/dense.hpp: those with vectors on the host, and those on a CUDA device, which
// dense.cpp names in a build with CUDA.
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include "core/devices/backend.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph {

struct ExpandArgs {
  DenseView<float> out;
  BitMatrixView<PlusMinusOne> x;
  const float* row_scale = nullptr;  ///< null: ones
  BitMatrixView<ZeroOne> keep;       ///< words null: all
};

/// A sum over columns goes through this many interleaved sums, then those pair by pair: see signed_sums_into.
inline constexpr std::size_t interleaved_sums = 16;

struct TransposeArgs {
  DenseView<float> out;
  DenseView<const float> x;
};

struct ExpandTransposedArgs {
  DenseView<float> out;
  BitMatrixView<PlusMinusOne> x;
  const float* scale = nullptr;  ///< of a row of x
};

struct SignedSumsArgs {
  double* out = nullptr;
  BitMatrixView<PlusMinusOne> x;
  const float* values = nullptr;
};

void transpose(const Reference& backend, const TransposeArgs& args);
void transpose(const Cpu& backend, const TransposeArgs& args);
void transpose(const Cuda& backend, const TransposeArgs& args);
void expand_transposed(const Reference& backend, const ExpandTransposedArgs& args);
void expand_transposed(const Cpu& backend, const ExpandTransposedArgs& args);
void signed_sums(const Reference& backend, const SignedSumsArgs& args);
void signed_sums(const Cpu& backend, const SignedSumsArgs& args);
/// sums[f] += x(i, f) over rows begin .. end, in their order.
void add_rows(const Reference& backend, double* sums, DenseView<const float> x, std::size_t begin, std::size_t end);
void add_rows(const Cpu& backend, double* sums, DenseView<const float> x, std::size_t begin, std::size_t end);

void accumulate(const Cuda& backend, DenseView<float> out, DenseView<const float> x, float alpha, float beta);
void maximum(const Cuda& backend, DenseView<float> y, DenseView<const float> x);
void scale_rows(const Cuda& backend, DenseView<float> x, const float* scale);
/// Rows of words of 4 or 8 bytes.
void gather_rows(const Cuda& backend, DenseView<std::uint32_t> out, DenseView<const std::uint32_t> x,
                 const NodeId* rows);
void gather_rows(const Cuda& backend, DenseView<std::uint64_t> out, DenseView<const std::uint64_t> x,
                 const NodeId* rows);
void column_sums(const Cuda& backend, float* out, DenseView<const float> x);
void expand(const Cuda& backend, const ExpandArgs& args);

}  // namespace bitgraph
