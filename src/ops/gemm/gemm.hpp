// SPDX-License-Identifier: Apache-2.0
// The kernels of the binary gemm: out = x w^T over {-1,+1}, or of floats with weights of {-1,+1}. See
// include/bitgraph/ops/gemm.hpp.
#pragma once

#include <bitgraph/formats/views.hpp>

#include "core/devices/backend.hpp"

#include <string>

namespace bitgraph {

/// Null pointers are ones and zeros.
template <class Out, class X = BitMatrixView<PlusMinusOne>>
struct GemmArgs {
  X x;
  BitMatrixView<PlusMinusOne> w;
  Out out;
  const float* row_scale = nullptr;
  const float* col_scale = nullptr;
  const float* bias = nullptr;
  BitMatrixView<ZeroOne> keep;  ///< elements of x that count; words null: all

  [[nodiscard]] constexpr float apply(std::size_t i, std::size_t f, float s) const noexcept {
    if (col_scale != nullptr) s *= col_scale[f];
    if (row_scale != nullptr) s *= row_scale[i];
    if (bias != nullptr) s += bias[f];
    return s;
  }
};

using GemmToBits = GemmArgs<BitMatrixView<PlusMinusOne, std::uint64_t>>;
using GemmToFloats = GemmArgs<DenseView<float>>;
/// Rows of floats; `keep` is not looked at.
template <class Out>
using GemmFromFloats = GemmArgs<Out, DenseView<const float>>;
using GemmOfFloats = GemmFromFloats<DenseView<float>>;  ///< x as it is

void gemm(const Reference& backend, const GemmToBits& args);
void gemm(const Reference& backend, const GemmToFloats& args);
void gemm(const Cpu& backend, const GemmToBits& args);
void gemm(const Cpu& backend, const GemmToFloats& args);
void gemm(const Cuda& backend, const GemmToBits& args);
void gemm(const Cuda& backend, const GemmToFloats& args);
void gemm(const Reference& backend, const GemmOfFloats& args);
void gemm(const Cpu& backend, const GemmOfFloats& args);
void gemm(const Cuda& backend, const GemmOfFloats& args);

/// out = g^T times the scaled signs of the first rows of x; of `keep` (words null: all) those with a bit.
struct SignGradientArgs {
  DenseView<float> out;
  DenseView<const float> g;
  BitMatrixView<PlusMinusOne> x;
  const float* row_scale = nullptr;
  BitMatrixView<ZeroOne> keep;
};
void sign_gradient(const Reference& backend, const SignGradientArgs& args);
void sign_gradient(const Cpu& backend, const SignGradientArgs& args);
void sign_gradient(const Cuda& backend, const SignGradientArgs& args);

/// x goes through binarize on the way, its scales multiplied by row_scale. False where no kernel is made for the shape:
/// nothing was done.
bool gemm_binarized(const Cuda& backend, const GemmFromFloats<BitMatrixView<PlusMinusOne, std::uint64_t>>& args);
bool gemm_binarized(const Cuda& backend, const GemmFromFloats<DenseView<float>>& args);

/// Shapes fit, and neither side of `out` is 0.
void float_gemm(const Cuda& backend, DenseView<float> out, DenseView<const float> a, bool transpose_a,
                DenseView<const float> b, bool transpose_b, float alpha, float beta);
[[nodiscard]] std::string float_gemm_kernels(const Cuda& backend);
/// Whether cuBLAS is found. Loads it.
[[nodiscard]] bool has_blas(const Cuda& backend);

/// values[i] *= factors[i], of n values on a CUDA device.
void multiply_by(const Cuda& backend, float* values, const float* factors, std::size_t n);
/// y(i, f) = args.apply(i, f, y(i, f)) of all elements of args.out.
void apply_scales(const Cuda& backend, const GemmToFloats& args);

}  // namespace bitgraph
