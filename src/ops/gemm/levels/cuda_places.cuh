// SPDX-License-Identifier: Apache-2.0
// From sums of products to places on the output's scale, on a CUDA device.
#pragma once

#include "ops/cuda_level_epilogue.cuh"
#include "ops/gemm/levels/args.hpp"

#include <cstddef>

namespace bitgraph::level_cuda {

/// What an output needs: see level_gemm.hpp.
struct ProductPlace {
  float by_step = 0;
  float by_offset = 0;
  float of_w = 0;
  float shift = 0;

  ProductPlace() = default;
  __device__ ProductPlace(const LevelGemmArgs& args, std::size_t output, const ColumnPlace& column) {
    const float w_step = args.w_scale.steps[output];
    const float w_offset = args.w_scale.offsets == nullptr ? 0.0F : args.w_scale.offsets[output];
    by_step = w_step * column.factor;
    by_offset = w_offset * column.factor;
    const float w_by_step = w_step * static_cast<float>(args.w_sums[output]);
    const float w_by_offset = w_offset * static_cast<float>(args.x.ncols);
    of_w = (w_by_step + w_by_offset) * column.factor;
    shift = column.shift;
  }

  /// What offsets that are not there multiply is 0, and left out.
  template <bool w_offsets, bool x_offsets>
  [[nodiscard]] __device__ float place(float sum, float x_sum, float x_step, float x_offset) const {
    float product = by_step * sum;
    if constexpr (w_offsets) product = product + by_offset * x_sum;
    product = x_step * product;
    if constexpr (x_offsets) product = product + x_offset * of_w;
    return product + shift;
  }
};

/// A row of X as the epilogue needs it.
struct RowOfX {
  float step, offset, sum;

  __device__ RowOfX(const LevelGemmArgs& args, std::size_t row, float sum_of_levels)
      : step(at_or(args.x_scale.steps, args.x_scale.single, row, 1)),
        offset(at_or(args.x_scale.offsets, args.x_scale.single, row, 0)),
        sum(sum_of_levels) {}
};

}  // namespace bitgraph::level_cuda
