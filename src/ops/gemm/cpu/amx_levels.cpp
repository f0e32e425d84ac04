// SPDX-License-Identifier: Apache-2.0
// Products of levels by AMX: bytes without a sign by bytes with one. Four tiles of sums, of 32 rows by 32 outputs, take
// two tiles of X and two of W for four products; the loads hide behind those. Panels of LevelWeights are tiles already.
#include "ops/gemm/cpu/amx_levels.hpp"

#if defined(__x86_64__) && defined(__linux__)

#include "ops/gemm/cpu/amx_tiles.hpp"

namespace bitgraph::gemm_cpu {

namespace {

constexpr std::size_t sum_row_bytes = sum_stride * sizeof(std::int32_t);

/// The tiles of sums of 32 rows and 16 or 32 outputs: their first values.
template <bool both>
[[BITGRAPH_AMX]] inline void begin_sums(const LevelTiles& tiles, std::int32_t* upper, std::int32_t* lower) {
  if (!tiles.fresh) {
    _tile_loadd(0, upper, sum_row_bytes);
    _tile_loadd(2, lower, sum_row_bytes);
    if constexpr (both) {
      _tile_loadd(1, upper + amx::side, sum_row_bytes);
      _tile_loadd(3, lower + amx::side, sum_row_bytes);
    }
  } else if (tiles.start != nullptr) {
    _tile_loadd(0, tiles.start, 64);
    _tile_loadd(2, tiles.start + tile_bytes / sizeof(std::int32_t), 64);
    if constexpr (both) {
      _tile_loadd(1, tiles.start, 64);
      _tile_loadd(3, tiles.start + tile_bytes / sizeof(std::int32_t), 64);
    }
  } else {
    _tile_zero(0);
    _tile_zero(2);
    if constexpr (both) {
      _tile_zero(1);
      _tile_zero(3);
    }
  }
}

template <bool both>
[[BITGRAPH_AMX]] void multiply_panels(const LevelTiles& tiles, std::size_t panel, const Beside& beside) {
  const std::uint8_t* x = tiles.rows;
  const std::uint8_t* const below = tiles.rows + tiles.tiles * tile_bytes;
  const std::int8_t* w = tiles.panels + panel * tiles.panel_bytes;
  std::size_t to_next = tiles.panel_bytes;
  std::int32_t* const upper = tiles.sums + panel * amx::side;
  std::int32_t* const lower = upper + amx::side * sum_stride;
  amx::settle_memory();
  begin_sums<both>(tiles, upper, lower);
  for (; x != below; x += tile_bytes, w += tile_bytes) {
    if (x + tile_bytes == below && tiles.last != nullptr) {
      w = tiles.last + panel * tile_bytes;
      to_next = tile_bytes;
    }
    _tile_loadd(4, x, 64);
    _tile_loadd(6, w, 64);
    _tile_dpbusd(0, 4, 6);
    if constexpr (both) {
      _tile_loadd(7, w + to_next, 64);
      _tile_dpbusd(1, 4, 7);
    }
    _tile_loadd(5, x + tiles.tiles * tile_bytes, 64);
    _tile_dpbusd(2, 5, 6);
    if constexpr (both) _tile_dpbusd(3, 5, 7);
    beside.step(beside.self);
  }
  _tile_stored(0, upper, sum_row_bytes);
  _tile_stored(2, lower, sum_row_bytes);
  if constexpr (both) {
    _tile_stored(1, upper + amx::side, sum_row_bytes);
    _tile_stored(3, lower + amx::side, sum_row_bytes);
  }
  amx::settle_memory();
}

}  // namespace

[[BITGRAPH_AMX]] void begin_tiles() { amx::begin_tiles(); }
[[BITGRAPH_AMX]] void end_tiles() { _tile_release(); }

void multiply_levels(const LevelTiles& tiles, const Beside& beside) {
  std::size_t panel = 0;
  for (; panel + 2 <= tiles.num_panels; panel += 2) multiply_panels<true>(tiles, panel, beside);
  if (panel < tiles.num_panels) multiply_panels<false>(tiles, panel, beside);
}

}  // namespace bitgraph::gemm_cpu

#else

#include <bitgraph/core/error.hpp>

namespace bitgraph::gemm_cpu {

void begin_tiles() { fail(ErrorCode::internal, "gemm: no matrix unit here"); }
void end_tiles() {}
void multiply_levels(const LevelTiles&, const Beside&) { fail(ErrorCode::internal, "gemm: no matrix unit here"); }

}  // namespace bitgraph::gemm_cpu

#endif
