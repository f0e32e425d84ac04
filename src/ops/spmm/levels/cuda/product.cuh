// SPDX-License-Identifier: Apache-2.0
// The product behind sums of levels: matrix instructions of 16 rows by 8 outputs.
#pragma once

#include "core/cuda/matrix_products.cuh"
#include "ops/cuda_level_epilogue.cuh"
#include "ops/spmm/cuda/block.hpp"
#include "ops/spmm/levels/args.hpp"
#include "ops/spmm/levels/cuda/gather.cuh"

#include <cstddef>
#include <cstdint>

namespace bitgraph::level_cuda {

/// What a block has for a product where there is none.
struct NoProduct {};

constexpr unsigned outputs = sum_product_outputs;
constexpr unsigned chunk = 64;  ///< columns of a step: two matrix instructions

/// What a block knows of the product's outputs.
struct ProductColumns {
  ProductPlace place[outputs];
  float least[outputs];

  /// By threads from `first` on.
  __device__ void fill(const SumProductArgs& args, unsigned first) {
    const unsigned output = threadIdx.x - first;
    if (output >= outputs) return;
    ColumnPlace column;
    if (output < args.outputs) {
      column = ColumnPlace(args.product_epilogue, output);
      place[output] = {args.w_scale, args.w_sums, args.x.ncols, output, column};
    } else {
      place[output] = {};
    }
    least[output] = column.least;
  }
};

/// A lane's outputs: 2 (lane % 4) and the next one.
struct ProductEnd {
  const SumProductArgs& args;
  const ProductColumns& columns;
  const float step = at_or(args.between.steps, true, 0, 1);
  const float offset = at_or(args.between.offsets, true, 0, 0);
  const unsigned pair = threadIdx.x % 4;

  /// Stores them of a row, or nothing for none.
  __device__ void store(NodeId row, std::int32_t first, std::int32_t second, std::int32_t sum_of_levels) const {
    if (row == spmm_cuda::no_row) return;
    const RowOfX of_x(step, offset, static_cast<float>(sum_of_levels));
    const LevelRule rule(args.product_epilogue, args.product.bits);
    const auto level_of = [&](unsigned output, std::int32_t sum) {
      return rule.level(columns.place[output].place<true, true>(static_cast<float>(sum), of_x), columns.least[output]);
    };
    auto* const to = reinterpret_cast<std::uint16_t*>(args.product.row(row)) + pair;
    *to = static_cast<std::uint16_t>(pack_two<8>(level_of(2 * pair, first), level_of(2 * pair + 1, second)));
  }
};

/// A block's rows of levels, as bytes, and W. Of nibbles eight columns are the even ones, then the odd ones.
template <unsigned Bits, unsigned Rows, unsigned Columns>
struct ProductTile {
  static constexpr unsigned steps = Columns / chunk;
  static constexpr unsigned pitch = Columns % 128 == 0 ? Columns + chunk : Columns;  ///< rows lie in different banks
  static constexpr unsigned row_warps = (Rows + 15) / 16;
  static_assert(Columns % chunk == 0);

  uint4 w[steps * 32];  ///< as lanes have it in each step
  alignas(16) std::uint8_t levels[row_warps * 16 * pitch];
  NodeId row[row_warps * 16];
  ProductColumns columns;

  /// For a whole block, before a barrier.
  __device__ void fill(const SumProductArgs& args) {
    const unsigned n = threadIdx.x;
    static_assert(steps * 32 + outputs <= tuning.block_threads);
    if (n < row_warps * 16) row[n] = spmm_cuda::no_row;
    columns.fill(args, steps * 32);
    if (n >= steps * 32) return;
    const unsigned output = n % 32 / 4, at = n / 32 * chunk + n % 4 * 16;
    uint4 of_w = {};
    if (output < args.outputs && at < args.w_row_bytes)
      of_w = __ldg(reinterpret_cast<const uint4*>(args.w_rows + output * args.w_row_bytes + at));
    if constexpr (Bits == 4) {
      constexpr unsigned even = 0x6420, odd = 0x7531;
      of_w = {__byte_perm(of_w.x, of_w.y, even), __byte_perm(of_w.x, of_w.y, odd), __byte_perm(of_w.z, of_w.w, even),
              __byte_perm(of_w.z, of_w.w, odd)};
    }
    w[n] = of_w;
  }

  /// Eight levels of row `at` of the tile, from `column` on.
  template <class LevelOf>
  __device__ void put(unsigned at, unsigned column, const LevelOf& level_of) {
    auto* const to = reinterpret_cast<uint2*>(levels + at * pitch + column);
    if constexpr (Bits == 4) {
      const std::uint32_t word = word_of_levels<4>(level_of);
      *to = {word & 0x0F0F0F0FU, word >> 4 & 0x0F0F0F0FU};
    } else {
      *to = {word_of_levels<8>(level_of), word_of_levels<8>([&](unsigned n) { return level_of(n + 4); })};
    }
  }

  /// When all rows are there. For a whole block.
  __device__ void multiply(const SumProductArgs& args) const {
    __syncthreads();
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp >= row_warps) return;
    constexpr std::uint32_t ones = 0x01010101;
    const unsigned first = warp * 16 + lane / 4;
    const std::uint8_t* const from = levels + first * pitch + lane % 4 * 16;
    std::int32_t sum[4] = {}, of_levels[4] = {};
#pragma unroll
    for (unsigned s = 0; s < steps; ++s) {
      const uint4 upper = *reinterpret_cast<const uint4*>(from + s * chunk);
      const uint4 lower = *reinterpret_cast<const uint4*>(from + 8 * pitch + s * chunk);
      const uint4 of_w = w[s * 32 + lane];
      const std::uint32_t one[4] = {upper.x, lower.x, upper.y, lower.y}, two[4] = {upper.z, lower.z, upper.w, lower.w};
      mma::multiply_bytes(sum, one, of_w.x, of_w.y);
      mma::multiply_bytes(of_levels, one, ones, ones);
      mma::multiply_bytes(sum, two, of_w.z, of_w.w);
      mma::multiply_bytes(of_levels, two, ones, ones);
    }
    const ProductEnd end{args, columns};
    end.store(row[first], sum[0], sum[1], of_levels[0]);
    end.store(row[first + 8], sum[2], sum[3], of_levels[2]);
  }
};

}  // namespace bitgraph::level_cuda
