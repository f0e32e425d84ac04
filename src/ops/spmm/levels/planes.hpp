// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/spmm/levels/args.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// Columns that a lane has of planes of levels.
inline constexpr std::size_t plane_part_columns = 64;
/// Lengths of rows that thresholds are found for: 0 to 63. Of 32 columns they take so many words of 32 bits.
inline constexpr unsigned plane_lengths = 64, plane_threshold_words = 24;

/// Whether sums on a CUDA device have the kernel for planes: levels of up to two bits in and out, a multiple of 64
/// columns, a row order, and memory for the planes.
[[nodiscard]] inline bool sums_by_planes(const LevelSpmmArgs& args) {
  constexpr int most_bits = 2;
  constexpr std::size_t load_bytes = 16;  // memory of a caller may begin anywhere
  const auto aligned = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) % load_bytes == 0; };
  const bool few = args.x.bits <= most_bits && args.out.levels.data != nullptr && args.out.levels.bits <= most_bits;
  return few && !args.planes.empty() && args.row_order.row != nullptr && args.x.ncols % plane_part_columns == 0 &&
         !args.wide && args.epilogue.activation != Activation::tanh && aligned(args.x.data) &&
         aligned(args.out.levels.data) && aligned(args.planes.data());
}

/// Such sums, on the device's stream.
void level_spmm_by_planes(const Device& device, const LevelSpmmArgs& args);

}  // namespace bitgraph
