// SPDX-License-Identifier: Apache-2.0
// The thresholds by which fused votes choose the shape of a kernel, and who has a row: one struct of them a compute
// capability. `bitgraph bench gnn` measures the layers that are made of them; docs/notebook/networks-cuda.md says what
// was measured.
#pragma once

#include <bitgraph/core/types.hpp>

#include <cstddef>

namespace bitgraph {

struct CudaFusedVoteTuning {
  /// Entries from which blocks have 768 threads with fewer neighbours on their way: rows that stay in the first-level
  /// cache matter more then than how many are under way.
  EdgeOffset entries_for_large_blocks = EdgeOffset{1} << 24;
  /// Entries from which a row has a warp as long as its lanes can count it. A graph of fewer wants all rows under way
  /// at once.
  EdgeOffset entries_for_long_warps = EdgeOffset{1} << 22;

  // Rows of so many entries, as powers of two.
  std::size_t hub_of_few = 9;     ///< have a block each, where entries are few
  std::size_t warp_row = 8;       ///< have a warp
  std::size_t group_of_few = 6;   ///< have four sets of lanes, where entries are few
  std::size_t group_of_many = 5;  ///< and where they are many
  /// Sums: a row's terms are few instructions, and what counts is how long its columns take one after the other.
  std::size_t sum_warp_of_few = 6;
  std::size_t sum_group = 4;
};

/// Measured on compute capability 9.0; no other has been measured, so all have these.
[[nodiscard]] inline const CudaFusedVoteTuning& cuda_fused_vote_tuning() noexcept {
  static constexpr CudaFusedVoteTuning measured_on_9_0{};
  return measured_on_9_0;
}

}  // namespace bitgraph
