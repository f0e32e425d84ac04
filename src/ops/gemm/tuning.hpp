// SPDX-License-Identifier: Apache-2.0
// The thresholds by which gemm chooses a kernel: one struct of them a compute capability, one for the host. What a
// kernel is built for (rows in registers, outputs of a block) stands in its plan.hpp. `bitgraph bench operators`,
// row BMM, measures the kernels of bits at a shape that --product names, beside the library's float product;
// docs/notebook/gemm.md says what was measured.
#pragma once

#include <cstddef>

namespace bitgraph {

struct CudaGemmTuning {
  /// Rows times words of a row of outputs, for each multiprocessor, up to which a kernel for few rows is quicker: a
  /// warp or two with rows of their own would leave a multiprocessor idle most of the time.
  std::size_t few_rows_a_multiprocessor = 64;
  /// Outputs of unscaled signs from which larger blocks load the weights less often.
  std::size_t outputs_for_large_blocks = 129;
  /// Outputs of floats in rows of odd places, from which 16 rows go to memory side by side, by way of shared memory.
  std::size_t outputs_for_image = 17;
  /// Multiplications of floats from which cuBLAS pays: flat products below take no longer here, and it takes half a
  /// second to load.
  std::size_t multiplications_for_blas = std::size_t{1} << 22;
  /// Columns of X from which a product is not flat: its few sums, one after the other, are cuBLAS's whatever the size.
  std::size_t columns_for_blas = 513;
};

/// Measured on compute capability 9.0; no other has been measured, so all have these.
[[nodiscard]] inline const CudaGemmTuning& cuda_gemm_tuning() noexcept {
  static constexpr CudaGemmTuning measured_on_9_0{};
  return measured_on_9_0;
}

/// For processors with a matrix unit (AMX); others have no choice. Below these sizes vectors are as quick.
struct CpuGemmTuning {
  std::size_t rows_for_tiles = 256;         ///< of X
  std::size_t bit_outputs_for_tiles = 32;   ///< where X is bits
  std::size_t float_outputs_for_tiles = 8;  ///< where X is whole numbers in floats
};

[[nodiscard]] inline const CpuGemmTuning& cpu_gemm_tuning() noexcept {
  static constexpr CpuGemmTuning measured_with_amx{};
  return measured_with_amx;
}

}  // namespace bitgraph
