// SPDX-License-Identifier: Apache-2.0
// From sums of products to places on the output's scale, on a CUDA device.
#pragma once

#include "ops/cuda_level_epilogue.cuh"
#include "ops/gemm/levels/args.hpp"

#include <cmath>
#include <cstddef>

namespace bitgraph::level_cuda {

/// A row of X as the epilogue needs it.
struct RowOfX {
  float step, offset;
  float sum;  ///< of levels, in steps

  __device__ RowOfX(float its_step, float its_offset, float sum_of_levels)
      : step(its_step), offset(its_offset), sum(step * sum_of_levels) {}
  __device__ RowOfX(const LevelGemmArgs& args, std::size_t row, float sum_of_levels)
      : RowOfX(at_or(args.x_scale.steps, args.x_scale.single, row, 1),
               at_or(args.x_scale.offsets, args.x_scale.single, row, 0), sum_of_levels) {}
};

/// What an output needs: see level_gemm.hpp. One that is not there has the first level, whatever the scale.
struct ProductPlace {
  float by_step = 0;
  float by_offset = 0;
  float of_w = 0;
  float shift = -INFINITY;

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
  [[nodiscard]] __device__ float place(float sum, const RowOfX& x) const {
    float rest = shift;
    if constexpr (x_offsets) rest = __fmaf_rn(x.offset, of_w, rest);
    if constexpr (w_offsets) rest = __fmaf_rn(by_offset, x.sum, rest);
    return __fmaf_rn(by_step * x.step, sum, rest);
  }
};

}  // namespace bitgraph::level_cuda
