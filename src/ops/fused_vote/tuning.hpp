// SPDX-License-Identifier: Apache-2.0
// Thresholds of fused votes: how large a block is, and how many lanes count one row. There is one struct of them for
// each compute capability. `bitgraph bench gnn` measures them; docs/notebook/networks-cuda.md has the measurements.
#pragma once

#include <bitgraph/core/types.hpp>

#include <cstddef>

namespace bitgraph {

struct CudaFusedVoteTuning {
  /// Graphs of at least so many entries use blocks of 768 threads that load fewer neighbors at a time. In a large graph
  /// it matters more that rows of X stay in the first-level cache than how many loads are in flight.
  EdgeOffset entries_for_large_blocks = EdgeOffset{1} << 24;
  /// In graphs of at least so many entries a warp counts a row as long as its counters can hold it. In smaller graphs a
  /// long row goes to a block, so that the last rows do not end late.
  EdgeOffset entries_for_long_warps = EdgeOffset{1} << 22;

  // Who counts a row of 2^n entries or more. "Few" and "many" speak of the graph's entries (entries_for_long_warps).
  std::size_t hub_of_few = 9;     ///< a block, in graphs of few entries
  std::size_t warp_row = 8;       ///< a warp
  std::size_t group_of_few = 6;   ///< four sets of lanes, in graphs of few entries
  std::size_t group_of_many = 5;  ///< four sets of lanes, in graphs of many entries
  // The same for sums of scores. A term is few instructions there; a row takes as long as its columns arrive one after
  // the other, so more lanes share a row.
  std::size_t sum_warp_of_few = 6;
  std::size_t sum_group = 4;
  std::size_t scaled_warp_of_many = 7;  ///< of scaled scores, in graphs of many entries

  // Compiled into kernels: threads of a block.
  unsigned large_block = 768;    ///< of large graphs
  unsigned vote_block = 256;     ///< of votes without products
  unsigned product_block = 128;  ///< of votes with products, counts and sums of scores: makes room sooner
};

/// The thresholds of every compute capability: only 9.0 has been measured.
inline constexpr CudaFusedVoteTuning cuda_fused_vote_on_9_0{};
[[nodiscard]] constexpr const CudaFusedVoteTuning& cuda_fused_vote_tuning() noexcept { return cuda_fused_vote_on_9_0; }

}  // namespace bitgraph
