// SPDX-License-Identifier: Apache-2.0
// From sums of products to places on the output's scale, on a CUDA device.
#pragma once

#include "ops/cuda_level_epilogue.cuh"
#include "ops/gemm/levels/args.hpp"

#include <cstddef>

namespace bitgraph::level_cuda {

/// A row of X.
[[nodiscard]] __device__ inline RowOfX row_of_x(const LevelGemmArgs& args, std::size_t row, float sum_of_levels) {
  return {at_or(args.x_scale.steps, args.x_scale.single, row, 1),
          at_or(args.x_scale.offsets, args.x_scale.single, row, 0), sum_of_levels};
}

/// An output that is there.
[[nodiscard]] __device__ inline ProductPlace place_of_output(const LevelGemmArgs& args, std::size_t output,
                                                             const ColumnPlace& column) {
  return {args.w_scale, args.w_sums, args.x.ncols, output, column};
}

}  // namespace bitgraph::level_cuda
