// SPDX-License-Identifier: Apache-2.0
// The numbers by which sums of levels share out rows on a CUDA device: one struct of them a compute capability.
// src/ops/spmm/levels/level_spmm_bench.cpp measures them.
#pragma once

#include <bitgraph/core/types.hpp>

#include <cstdint>

namespace bitgraph {

struct CudaLevelSpmmTuning {
  unsigned block_threads = 256;
  unsigned blocks = 3;       ///< least blocks of a multiprocessor, which bounds the registers of a thread
  unsigned byte_blocks = 4;  ///< the same where lanes gather 16 bytes of 8 bits a level
  unsigned batch = 8;        ///< neighbours of a set of lanes on their way at a time
  unsigned most_lanes = 8;   ///< that have a row of X: of 64 or 128 bytes; wider rows go in slices
  // Rows in order.
  std::uint32_t warp_row_a_lane = 32;   ///< entries for each lane of a set from which a warp has a row, a power of two
  std::uint32_t narrow_warp_row = 256;  ///< entries from which a warp has a row of eight bytes
  /// Rounds of loads of a warp from which a row is a hub: one for so many bytes that all entries gather, within bounds.
  EdgeOffset round_bytes = 10'000'000;
  EdgeOffset least_rounds = 8;
  EdgeOffset most_rounds = 32;
  EdgeOffset narrow_rounds = 2;   ///< the least of rows of eight bytes: a call lasts as long as its longest warp
  EdgeOffset shared_part = 1000;  ///< blocks share hubs that have this part of all entries, or more
  unsigned hub_lanes = 2;         ///< of a row, that a block has of a shared hub: 16 or 32 bytes
  // Rows as they are stored.
  std::uint32_t stored_warp_row = 64;
  std::uint32_t stored_hub_row = 1024;
  std::uint32_t lone_longer = 8;  ///< the first of the two where warps have fewer rows than sets of lanes
  unsigned busy_warps = 4096;     ///< that keep the device busy: warps take fewer rows below
  // By planes of bits, rows in order.
  unsigned plane_blocks = 3;                  ///< least blocks of a multiprocessor
  std::uint32_t plane_warp_row = 64;          ///< entries from which a warp has a row, a power of two
  std::uint32_t plane_lone_row = 32;          ///< the same where a lane has a row alone
  EdgeOffset plane_round_bytes = 10'000'000;  ///< of all entries, for each round of a warp from which a row is a hub
  unsigned wide_lanes = 16;                   ///< that share a row of levels of more than 8 bits, a power of two
};

/// Of compute capability 9.0, and of all others.
[[nodiscard]] constexpr CudaLevelSpmmTuning cuda_level_spmm_tuning() noexcept { return {}; }

}  // namespace bitgraph
