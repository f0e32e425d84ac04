// SPDX-License-Identifier: Apache-2.0
// What the products on a matrix unit of tiles share: x86 on Linux, compiled for the instructions that it has.
#pragma once

#include "ops/gemm/cpu/plan.hpp"

#include <immintrin.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#define BITGRAPH_AMX gnu::target("avx512f,avx512bw,avx512dq,avx512vl,amx-tile,amx-int8")

namespace bitgraph::amx {

inline constexpr std::size_t side = gemm_cpu::tile_side;  ///< rows of a tile, and 32-bit numbers in one of its rows
inline constexpr std::size_t tile = side * 64;            ///< bytes
using gemm_cpu::weight_tiles;

/// What the hardware wants to know of eight tiles, all whole.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {side, side, side, side, side, side, side, side};
};

/// Compilers do not know that tiles are loaded from memory: what is written ahead of this is there behind it.
inline void settle_memory() { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// Ahead of the first tile; _tile_release() behind the last.
[[BITGRAPH_AMX]] inline void begin_tiles() {
  const TileShapes shapes;
  settle_memory();
  _tile_loadconfig(&shapes);
}

/// The lanes of 16 that `count` elements fill.
inline __mmask16 first_lanes(std::size_t count) {
  return static_cast<__mmask16>(count >= side ? 0xFFFF : (1U << count) - 1);
}

}  // namespace bitgraph::amx
