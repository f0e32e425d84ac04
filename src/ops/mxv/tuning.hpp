// SPDX-License-Identifier: Apache-2.0
// The thresholds by which mxv and vxm choose a kernel, or how they share out the work: one struct of them a compute
// capability, one for the host. The CUDA figures are of mxv beside cuSPARSE's SpMV over 52 graphs: see
// docs/notebook/mxv.md.
#pragma once

#include <bitgraph/core/types.hpp>

#include <cstddef>

namespace bitgraph {

struct CudaMxvTuning {
  /// Entries of the longest row up to which a few lanes a row may be even enough.
  EdgeOffset longest_short_row = 64;
  /// Threads that a device has at once, about. Up to a quarter of it in rows, one wave of warps has them all.
  NodeId many_threads = NodeId{1} << 18;
  /// Mean entries of short rows where a wave does not have them all: x of bits, x of values.
  EdgeOffset mean_of_bits = 8;
  EdgeOffset mean_of_values = 16;
  /// Entries of the longest row from which eight lanes have a row of values, where rows are few: a short chain.
  EdgeOffset row_for_eight_lanes = 17;
  /// Where rows are many each lane should have enough to do: rows of up to so many entries have a lane, and of up to so
  /// many in the mean two.
  EdgeOffset row_of_one_lane = 8;
  EdgeOffset mean_of_two_lanes = 8;
  /// Rows and entries up to which one wave of warps has all small chunks: what counts is how long one takes. Beyond,
  /// little shared memory leaves more of the first-level cache to x.
  EdgeOffset items_in_small_chunks = EdgeOffset{1} << 20;

  // Compiled into kernels.
  unsigned small_chunk = 128;      ///< rows and entries of a chunk that one wave has,
  unsigned chunk_of_values = 256;  ///< of others of values,
  unsigned chunk_of_bits = 512;    ///< and of others of bits
  unsigned ahead_alone = 8;        ///< columns under way of a lane that has a row,
  unsigned ahead = 4;              ///< and of one of several
  unsigned block_threads = 256;    ///< of a block: short rows, and rows that are pushed
  unsigned tile_warps = 8;         ///< of a block over tiles, a tile row each
};

/// Measured on compute capability 9.0; no other has been measured, so all have these.
inline constexpr CudaMxvTuning cuda_mxv_on_9_0{};
[[nodiscard]] constexpr const CudaMxvTuning& cuda_mxv_tuning() noexcept { return cuda_mxv_on_9_0; }

struct CpuMxvTuning {
  /// Entries or tiles below which a call is over before other threads are awake; values take three times as long as
  /// bits.
  EdgeOffset serial_bits = EdgeOffset{1} << 14;
  EdgeOffset serial_values = EdgeOffset{3} << 12;
  std::size_t serial_push = std::size_t{1} << 14;
  /// A row of more entries, or tiles, than this, and than 1/32 of all, is shared by the threads. At most 32 are: there
  /// is room for no more.
  EdgeOffset long_row = EdgeOffset{1} << 16;
  EdgeOffset long_row_share = 32;
  /// Entries that a row is walked for one that hits, where bits of x are looked for; and between what.
  double entries_for_a_hit = 3;
  double least_long_degree = 16;
  double most_long_degree = 256;

  // Compiled into kernels.
  std::size_t most_parts = 8;          ///< of the columns, for threads that push
  std::size_t sample_size = 512;       ///< entries by which columns are cut into parts
  std::size_t piece_rows = 1024;       ///< rows of a matrix that the pieces of a long row make
  std::size_t strip_entries = 4096;    ///< of a strip whose values are brought together
  std::size_t tested_entries = 16384;  ///< of a strip whose bits are looked at before they are counted
};

inline constexpr CpuMxvTuning cpu_mxv_measured{};
[[nodiscard]] constexpr const CpuMxvTuning& cpu_mxv_tuning() noexcept { return cpu_mxv_measured; }

}  // namespace bitgraph
