// SPDX-License-Identifier: Apache-2.0
// The thresholds by which mxm chooses a kernel or a class of rows, and shares out the work: one struct of them a
// compute capability, one for the host, and one for what both decide alike. `bitgraph bench graph` measures masked sums
// as the counting of triangles; docs/notebook/mxm.md says what was found.
#pragma once

#include <bitgraph/core/types.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// Many tiles with few bits are unpacked: their entries are better compared one by one.
struct MxmTuning {
  EdgeOffset many_tiles = EdgeOffset{1} << 16;
  EdgeOffset full_tile_share = 2;  ///< such a tile has fewer entries than its side divided by this
};

inline constexpr MxmTuning mxm_measured{};
[[nodiscard]] constexpr const MxmTuning& mxm_tuning() noexcept { return mxm_measured; }

struct CudaMxmTuning {
  // Blocks that compare rows take fewer entries each, where there are few entries and some take much longer.
  EdgeOffset few_entries = EdgeOffset{1} << 18;   ///< below which long rows alone ask for that
  EdgeOffset many_entries = EdgeOffset{1} << 20;  ///< below which skewed rows do
  EdgeOffset long_row = 33;                       ///< entries of a row that a warp compares
  EdgeOffset skew = 16;                           ///< times the mean length: a longer row makes a graph skewed

  // Rows that have bit rows beside their columns.
  EdgeOffset entries_for_hubs = EdgeOffset{1} << 14;  ///< pairs of rows from which they pay
  std::size_t least_hub = 128;                        ///< entries, and
  std::size_t words_a_hub_entry = 16;                 ///< words of a bit row for each of its entries
  std::size_t most_hub_bytes = std::size_t{256} << 20;

  // Rows of a product.
  std::uint64_t most_slots = std::uint64_t{1} << 28;  ///< products that are buffered before they are counted: 1 GiB
  std::size_t bit_words_a_product = 8;  ///< words of a row of bits for each product: to go through fewer costs less
                                        ///< than to sort
  std::size_t least_products_of_bits = 256;                  ///< that are always sorted
  std::size_t most_shared_bit_row = std::size_t{160} << 10;  ///< bytes
  std::size_t most_bit_row_bytes = std::size_t{1} << 30;     ///< of all blocks, in global memory

  // Two rows that meet: which threads compare them, in entries. Compiled into kernels.
  unsigned register_row = 8;    ///< longest row that a thread holds in registers
  unsigned lone_row = 2;        ///< longest shorter row that a thread looks up alone,
  unsigned team_row = 32;       ///< and that a team looks up; a warp above
  unsigned team_lanes = 8;      ///< of a team
  unsigned table_row = 128;     ///< longest row that goes into a warp's hash table,
  unsigned table_slots = 256;   ///< which has so many slots
  unsigned walked_row = 64;     ///< longest row to walk along beside a table
  unsigned least_walks = 4;     ///< fewer pairs of a row do not make up for its table
  unsigned meet_threads = 256;  ///< of a block that compares rows, which takes as many entries,
  unsigned small_share = 4;     ///< or a quarter of them: small blocks

  // Rows of a product: blocks. Compiled into kernels.
  unsigned most_sorted = 2048;   ///< products of a row that a block sorts in shared memory
  unsigned team_threads = 128;   ///< of a block whose teams sort rows in registers,
  unsigned sort_threads = 256;   ///< that sorts a row,
  unsigned bits_threads = 512;   ///< and that sets bits
  unsigned block_threads = 256;  ///< of every other block
  unsigned sort_blocks = 8;      ///< of a multiprocessor that sort rows in turns,
  unsigned bits_blocks = 4;      ///< that set bits,
  unsigned sum_blocks = 16;      ///< and that add up lengths
};

/// Measured on compute capability 9.0; no other has been measured, so all have these.
inline constexpr CudaMxmTuning cuda_mxm_on_9_0{};
[[nodiscard]] constexpr const CudaMxmTuning& cuda_mxm_tuning() noexcept { return cuda_mxm_on_9_0; }

/// What the two ways of a product within a mask cost, a column that is compared being 1.
struct WithinCosts {
  std::uint64_t gathered;    ///< a column that is gathered
  std::uint64_t pair;        ///< a pair of rows, beside its columns
  std::uint64_t transposed;  ///< an entry of B that is transposed
};

struct CpuMxmTuning {
  WithinCosts of_bits{3, 16, 16};
  WithinCosts of_counts{8, 8, 8};                           ///< gathered twice, and noted
  std::size_t most_direct_columns = std::size_t{1} << 22;   ///< more columns, and counts are hashed
  std::size_t least_long_row = 64;                          ///< entries of a row that has a bit row
  std::size_t most_long_row_bytes = std::size_t{64} << 20;  ///< of all bit rows

  // Compiled into kernels.
  std::size_t search_factor = 32;  ///< times as long must a row be for its columns to be searched for, not walked over
  std::size_t vector_row = 5;      ///< entries from which a row is looked up by vectors
  std::size_t chunk_rows = 64;     ///< rows, or tile rows, that a thread takes at a time
};

inline constexpr CpuMxmTuning cpu_mxm_measured{};
[[nodiscard]] constexpr const CpuMxmTuning& cpu_mxm_tuning() noexcept { return cpu_mxm_measured; }

}  // namespace bitgraph
