// SPDX-License-Identifier: Apache-2.0
// The numbers by which sums of levels share out rows on a CUDA device: one struct of them a compute capability.
// src/ops/spmm/levels/level_spmm_bench.cpp measures them.
#pragma once

#include <bitgraph/core/types.hpp>

#include <cstdint>

namespace bitgraph {

struct CudaLevelSpmmTuning {
  unsigned block_threads = 256;
  unsigned blocks = 3;      ///< least blocks of a multiprocessor, which bounds the registers of a thread
  unsigned batch = 8;       ///< neighbours of a set of lanes on their way at a time
  unsigned most_lanes = 8;  ///< that have a row of X: of 64 or 128 bytes; wider rows go in slices
  // Rows in order. A warp's rounds of loads are counted from which a row is a hub, a power of two: few_rounds, or less
  // where it has hub_row entries; many_rounds in graphs with large_graph times the entries of the longest row, where
  // one hub does not count.
  std::uint32_t warp_row = 128;        ///< entries from which a warp has a row, a power of two,
  std::uint32_t warp_row_a_lane = 32;  ///< or so many for each lane of a set, where that is less
  std::uint32_t hub_row = 1024;
  std::uint32_t few_rounds = 16;
  std::uint32_t many_rounds = 32;
  EdgeOffset large_graph = 1000;
  unsigned hub_lanes = 2;  ///< of a row, that a block has of a shared hub: 16 or 32 bytes
  // Rows as they are stored.
  std::uint32_t stored_warp_row = 64;
  std::uint32_t stored_hub_row = 1024;
  std::uint32_t lone_longer = 8;  ///< the first of the two where warps have fewer rows than sets of lanes
  unsigned busy_warps = 4096;     ///< that keep the device busy: warps take fewer rows below
  unsigned wide_lanes = 16;       ///< that share a row of levels of more than 8 bits, a power of two
};

/// Of compute capability 9.0, and of all others.
[[nodiscard]] constexpr CudaLevelSpmmTuning cuda_level_spmm_tuning() noexcept { return {}; }

}  // namespace bitgraph
