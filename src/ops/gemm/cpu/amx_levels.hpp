// SPDX-License-Identifier: Apache-2.0
// Products of bytes on a processor's matrix unit (AMX), for products of levels. The sums are exact. What goes around
// them, unpacking and the epilogue, is in ops/gemm/levels/cpu_tiles.cpp.
#pragma once

#include "ops/gemm/cpu/plan.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph::gemm_cpu {

inline constexpr std::size_t tile_columns = 64;                      ///< bytes of a row of a tile
inline constexpr std::size_t tile_bytes = tile_side * tile_columns;  ///< of a whole one
inline constexpr std::size_t block_of_tiles = 2 * tile_side;         ///< rows of X that are multiplied together
inline constexpr std::size_t sum_stride = 256 + 16;  ///< from row to row of sums: they do not meet in one cache set

/// A block of 32 rows of X by a slice of at most 256 outputs.
struct LevelTiles {
  const std::uint8_t* rows = nullptr;   ///< of X: [16 rows][tile of 64 columns][row][column], bytes without a sign
  std::size_t tiles = 0;                ///< of 64 columns: at least one
  const std::int8_t* panels = nullptr;  ///< as in LevelWeights, from the slice's first output and the first column on
  std::size_t panel_bytes = 0;          ///< from panel to panel
  std::size_t num_panels = 0;
  const std::int8_t* last = nullptr;    ///< the last tile of each panel, whole; null: it is whole where it lies
  std::int32_t* sums = nullptr;         ///< [row][sum_stride]; 64-byte aligned
  const std::int32_t* start = nullptr;  ///< what each sum begins with, [row][16 times]; null: zeros
  bool fresh = true;                    ///< else products are added to `sums`, and there is no start
};

/// What is done beside the products: tiles take their time, and leave the vector units to others. step(self) is called
/// once for each tile of columns and pair of panels.
struct Beside {
  void (*step)(void* self) = nullptr;
  void* self = nullptr;
};

/// How often multiply_levels calls step.
[[nodiscard]] constexpr std::size_t steps_of(const LevelTiles& tiles) noexcept {
  return (tiles.num_panels + 1) / 2 * tiles.tiles;
}

/// Gives the calling thread its tiles, until end_tiles(). Only where there is a matrix unit (Isa::amx).
void begin_tiles();
void end_tiles();

/// Between those two.
void multiply_levels(const LevelTiles& tiles, const Beside& beside);

}  // namespace bitgraph::gemm_cpu
