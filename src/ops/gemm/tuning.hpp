// SPDX-License-Identifier: Apache-2.0
// The thresholds by which gemm chooses a kernel: one struct of them a compute capability, one for the host. `bitgraph
// bench operators`, row BMM, measures the kernels of bits at a shape that --product names, beside the library's float
// product; docs/notebook/gemm.md says what was measured.
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

  /// Blocks that a gradient of sign weights is cut into, at most unless its columns alone are more: parts of its rows.
  std::size_t sign_gradient_blocks = 264;

  // Columns of levels of two bits that planes multiply in less time than bytes. Planes take blocks of 512: few columns
  // of a first or second one take as long as all. `bench quantized --figures products --product ...` measures them.
  std::size_t columns_for_planes = 257;         ///< least ones of a lone block,
  std::size_t more_columns_for_planes = 769;    ///< and of more blocks
  std::size_t most_columns_for_planes = 3'072;  ///< all chunks of a row of X stay in shared memory

  // Compiled into kernels.
  std::size_t most_short_words = 16;  ///< of 64 bits, of a row of X that stays in registers
  unsigned block_outputs = 256;       ///< of a block of the kernels for short rows
  unsigned block_threads = 256;       ///< of a block,
  unsigned blocks = 2;                ///< least of a multiprocessor, of these, which bounds the registers of a thread
  unsigned large_block = 512;         ///< of one of short rows that has many outputs,
  unsigned few_rows_block = 512;      ///< and at most of one that shares few rows
  unsigned few_row_tiles = 2;         ///< tiles of 16 rows that such a block has
  unsigned chunk_words = 32;          ///< words of W in shared memory at a time
  unsigned float_tile = 64;           ///< rows and outputs of a block of floats,
  unsigned float_depth = 16;          ///< which takes so many columns at a time
  unsigned float_tiles = 8;           ///< of 8 outputs of floats by signs, side by side: 1, 3, 6 or this
};

/// Measured on compute capability 9.0; no other has been measured, so all have these.
inline constexpr CudaGemmTuning cuda_gemm_on_9_0{};
[[nodiscard]] constexpr const CudaGemmTuning& cuda_gemm_tuning() noexcept { return cuda_gemm_on_9_0; }

/// For processors with a matrix unit (AMX); others have no choice. Below these sizes vectors are as quick.
struct CpuGemmTuning {
  std::size_t rows_for_tiles = 256;         ///< of X
  std::size_t bit_outputs_for_tiles = 32;   ///< where X is bits
  std::size_t float_outputs_for_tiles = 8;  ///< where X is whole numbers in floats
  std::size_t level_rows_for_tiles = 32;    ///< where both are levels of at most 8 bits: a block of them,
  std::size_t level_multiplications_for_tiles = std::size_t{1} << 18;  ///< and so many products

  // Compiled into kernels.
  std::size_t weight_tiles = 128;       ///< unpacked at a time, on the stack
  std::size_t level_tiles = 12;         ///< of 64 columns of X, unpacked at a time
  std::size_t packed_vectors = 512;     ///< of W on the stack: longer rows are added piece by piece
  std::size_t block_rows = 128;         ///< of X, which all outputs on the stack are taken for
  std::size_t unpacked_weights = 8192;  ///< of W on the stack as floats
};

inline constexpr CpuGemmTuning cpu_gemm_with_amx{};
[[nodiscard]] constexpr const CpuGemmTuning& cpu_gemm_tuning() noexcept { return cpu_gemm_with_amx; }

}  // namespace bitgraph
