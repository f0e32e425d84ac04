// SPDX-License-Identifier: Apache-2.0
// Rows of a graph cut into blocks of almost equal length.
#pragma once

#include <cstddef>

namespace bitgraph::nn {

/// The first row of block number `block` out of `blocks`.
[[nodiscard]] constexpr std::size_t first_row(std::size_t num_rows, std::size_t block, std::size_t blocks) noexcept {
  return num_rows * block / blocks;
}

/// The most rows that a block has.
[[nodiscard]] constexpr std::size_t most_rows(std::size_t num_rows, std::size_t blocks) noexcept {
  return (num_rows + blocks - 1) / blocks;
}

}  // namespace bitgraph::nn
