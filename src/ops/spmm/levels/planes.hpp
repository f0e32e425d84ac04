// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/spmm/levels/args.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// Columns that a lane has of planes of levels.
inline constexpr std::size_t plane_part_columns = plane_piece_columns;
/// Lengths of rows that thresholds are found for: 0 to 63. Of 32 columns they take so many words of 32 bits.
inline constexpr unsigned plane_lengths = 64, plane_threshold_words = 24;

/// Whether a kernel may load 16 bytes there: memory of a caller may begin anywhere.
[[nodiscard]] inline bool loads_16_bytes(const void* at) noexcept {
  return reinterpret_cast<std::uintptr_t>(at) % 16 == 0;
}

/// Whether sums have the kernel for planes: what level_spmm_has_planes() asks, a row order, and memory for the planes.
[[nodiscard]] bool sums_by_planes(const LevelSpmmArgs& args);

/// Such sums, on a CUDA device's stream, or of levels in planes on the host.
void level_spmm_by_planes(const Device& device, const LevelSpmmArgs& args);
void level_spmm_by_planes(const Cpu& backend, const LevelSpmmArgs& args);

}  // namespace bitgraph
