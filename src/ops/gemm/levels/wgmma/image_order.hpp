// SPDX-License-Identifier: Apache-2.0
// How rows of W lie in an image of it, as kernels see it.
#pragma once

#include <bitgraph/ops/level_strategy.hpp>

#include "ops/gemm/levels/wgmma/order.hpp"
#include "ops/gemm/tuning.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph::level_image {

/// A block has 128 bytes of each row: so many columns. Rows follow one another within it, pieces of 16 bytes change
/// places by the row's number, and the next block begins behind the last row.
[[nodiscard]] constexpr std::size_t block_columns(Order order) noexcept { return has_planes(order) ? 512 : 128; }

/// Levels of so many bits have a kernel on planes.
[[nodiscard]] constexpr bool has_planes(int x_bits, int w_bits) noexcept {
  return x_bits >= 1 && x_bits <= 2 && w_bits >= 1 && w_bits <= 2;
}

/// Of a W of so many bits and columns: that of planes where these are wanted, and there is a kernel for them.
[[nodiscard]] constexpr Order order_of(const LevelWeightsUse& use, int w_bits, std::size_t columns) noexcept {
  const int x_bits = use.x_bits;
  if (x_bits < 1 || x_bits > 8 || w_bits > 8) return Order::none;
  constexpr CudaGemmTuning tuning = cuda_gemm_tuning();
  if (use.x_packing == LevelPacking::planes) {
    if (!has_planes(x_bits, w_bits) || columns > tuning.most_columns_for_planes) return Order::none;
    return use.out_packing == LevelPacking::planes ? Order::packed_to_planes : Order::packed;
  }
  const bool lone = columns <= block_columns(Order::planes);
  const bool pays = columns >= (lone ? tuning.columns_for_planes : tuning.more_columns_for_planes);
  const bool wanted = use.strategy == LevelStrategy::planes || (use.strategy == LevelStrategy::automatic && pays);
  if (has_planes(x_bits, w_bits) && wanted && columns <= tuning.most_columns_for_planes) return Order::planes;
  return x_bits <= 4 ? Order::nibbles : Order::bytes;
}

/// The output of row `row` of an image of packed_to_planes. Lane q of a quad has outputs 2 q and 2 q + 1 of each eight
/// behind its products; of 32 outputs these are bits 16 (q % 2) + q / 2, and every second one behind.
[[nodiscard]] constexpr std::size_t output_of_row(std::size_t row) noexcept {
  const std::size_t eight = row % 32 / 8, quarter = row % 8 / 2, second = row % 2;
  return row / 32 * 32 + quarter % 2 * 16 + eight * 4 + second * 2 + quarter / 2;
}

/// Rows of a block, those behind the last row of W included.
[[nodiscard]] constexpr std::size_t rows(std::size_t nrows) noexcept { return (nrows + 31) / 32 * 32; }

}  // namespace bitgraph::level_image
