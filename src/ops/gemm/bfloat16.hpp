// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16: see include/bitgraph/ops/gemm.hpp. Sums and scales are float32; an output of bfloat16 is
// rounded once. T, the element type of the output, is float or Bfloat16.
#pragma once

#include <bitgraph/formats/bfloat16.hpp>

#include "ops/gemm/gemm.hpp"

#include <string>

namespace bitgraph {

template <class T>
struct BfloatGemm {
  DenseView<const Bfloat16> x;
  DenseView<const Bfloat16> w;
  DenseView<T> out;
  GemmToFloats scales;  ///< row_scale, col_scale and bias; its operands are empty

  [[nodiscard]] bool is_scaled() const noexcept {
    return scales.row_scale != nullptr || scales.col_scale != nullptr || scales.bias != nullptr;
  }
};

template <class T>
void gemm(const Reference& backend, const BfloatGemm<T>& args);
template <class T>
void gemm(const Cpu& backend, const BfloatGemm<T>& args);
template <class T>
void gemm(const Cuda& backend, const BfloatGemm<T>& args);

/// "OpenBLAS SkylakeX, from copies in float32"; on a CUDA device "cuBLAS 13.0.2", or the same of our own kernel.
[[nodiscard]] std::string bfloat_gemm_kernels(const Device& device);

}  // namespace bitgraph
