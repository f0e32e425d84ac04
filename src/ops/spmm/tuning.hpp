// SPDX-License-Identifier: Apache-2.0
// The thresholds by which spmm chooses a kernel: one struct of them a compute capability and a host level. Sizes that a
// kernel is built for (threads of a block, rows in shared memory) stand with the kernel. `bitgraph bench operators`
// measures every kernel; docs/notebook/spmm.md says how each threshold was found, on an H200 and on a Xeon with
// AVX-512.
#pragma once

#include <bitgraph/core/types.hpp>

#include <cstddef>

namespace bitgraph {

struct CudaSpmmTuning {
  // Votes over pattern CSR.
  std::size_t small_vote = std::size_t{1} << 21;        ///< (rows + entries) x words of a row: no equal spans below
  std::size_t vote_warps = 4096;                        ///< that keep the device busy: warps take fewer rows below
  EdgeOffset large_ordered_vote = EdgeOffset{1} << 25;  ///< entries from which blocks have 768 threads

  // Sums over pattern CSR.
  std::size_t few_features = 64;                  ///< half a warp has a row of so many
  EdgeOffset many_entries = EdgeOffset{1} << 20;  ///< more than the caches take
  EdgeOffset mesh_entries_a_row = 8;              ///< a mesh has fewer,
  NodeId mesh_rows = NodeId{1} << 18;             ///< and more rows
  EdgeOffset short_row_entries = 24;              ///< mean length below which rows count as short
  std::size_t idle_lanes_a_multiprocessor = 512;  ///< fewer lanes leave a quarter of the device idle
  EdgeOffset entries_for_more_lanes = 16;         ///< mean length from which a row takes more lanes
  unsigned early_blocks_a_multiprocessor = 8;     ///< up to so many the next kernel may start early
  EdgeOffset copy_entries_a_row = 64;             ///< gathers a row of X, from which a copy of X pays
  EdgeOffset fp16_entries = 1'900'000;            ///< gathers from which a copy in 16 bits pays,
  EdgeOffset fp16_entries_a_row = 14;             ///< and for each row of X
  EdgeOffset hub_share = 64;                      ///< a row of more than 1/64 of all entries is a hub

  // Votes over tiles.
  EdgeOffset long_tile_row = 24;  ///< mean tiles from which words of the graph's bits are quicker
  int word_tile_dim = 8;          ///< in tiles of up to this side
};

/// Measured on compute capability 9.0; no other has been measured, so all have these.
[[nodiscard]] inline const CudaSpmmTuning& cuda_spmm_tuning() noexcept {
  static constexpr CudaSpmmTuning measured_on_9_0{};
  return measured_on_9_0;
}

/// How the work is shared out; the kernels follow from the types alone.
struct CpuSpmmTuning {
  // Turns of a thread: enough that uneven parts even out, few enough that each is worth it.
  std::size_t turns = 6;              ///< over blocks of rows
  std::size_t sell_turns = 16;        ///< over parts of a SellPattern
  std::size_t tile_word_turns = 16;   ///< over tile rows that are taken as words
  std::size_t least_sell_chunks = 8;  ///< of a part
  /// Rows of X are not fetched for a few rows: of a graph that is cut into strips a thread takes so many.
  std::size_t rows_of_strip = 2048;
};

[[nodiscard]] inline const CpuSpmmTuning& cpu_spmm_tuning() noexcept {
  static constexpr CpuSpmmTuning measured{};
  return measured;
}

}  // namespace bitgraph
