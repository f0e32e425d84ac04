// SPDX-License-Identifier: Apache-2.0
// How rows of W lie in an image of it, as kernels see it.
#pragma once

#include <bitgraph/ops/level_strategy.hpp>

#include "ops/gemm/tuning.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph::level_image {

/// The order of the columns, which follows from how X is multiplied.
enum class Order : std::uint8_t {
  none,     ///< there is no image
  planes,   ///< a plane of 256 columns after the other, as planes of X's nibbles come
  nibbles,  ///< bytes: of 32 columns the even ones, then the odd ones, as nibbles of X are widened
  bytes     ///< bytes as they are
};

/// A block has 128 bytes of each row: so many columns. Rows follow one another within it, pieces of 16 bytes change
/// places by the row's number, and the next block begins behind the last row.
[[nodiscard]] constexpr std::size_t block_columns(Order order) noexcept { return order == Order::planes ? 512 : 128; }

/// Levels of so many bits have a kernel on planes.
[[nodiscard]] constexpr bool has_planes(int x_bits, int w_bits) noexcept {
  return x_bits >= 1 && x_bits <= 2 && w_bits >= 1 && w_bits <= 2;
}

/// Of levels of X and W that have so many bits, and rows of so many columns: that of planes where these are wanted, and
/// there is a kernel for them.
[[nodiscard]] constexpr Order order_of(int x_bits, int w_bits, std::size_t columns,
                                       LevelStrategy strategy = LevelStrategy::automatic) noexcept {
  if (x_bits < 1 || x_bits > 8 || w_bits > 8) return Order::none;
  constexpr CudaGemmTuning tuning = cuda_gemm_tuning();
  const bool lone = columns <= block_columns(Order::planes);
  const bool pays = columns >= (lone ? tuning.columns_for_planes : tuning.more_columns_for_planes);
  const bool wanted = strategy == LevelStrategy::planes || (strategy == LevelStrategy::automatic && pays);
  if (has_planes(x_bits, w_bits) && wanted && columns <= tuning.most_columns_for_planes) return Order::planes;
  return x_bits <= 4 ? Order::nibbles : Order::bytes;
}

/// Rows of a block, those behind the last row of W included.
[[nodiscard]] constexpr std::size_t rows(std::size_t nrows) noexcept { return (nrows + 31) / 32 * 32; }

}  // namespace bitgraph::level_image
