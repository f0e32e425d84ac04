// SPDX-License-Identifier: Apache-2.0
// The numbers by which spmm chooses a kernel, a class of rows, a span or a block: one struct of them a compute
// capability and one a host level. `bitgraph bench operators` measures every kernel, on an H200 and on a Xeon with
// AVX-512. A comment ends with the section of docs/notebook/spmm.md that has the measurement; fields without one follow
// the field before them, or were set once by the benchmark and have no figures of their own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// What one kernel of sums over equal spans is compiled for.
struct SpanSumTuning {
  unsigned batch;            ///< rows of X that a group of lanes loads before it adds them
  unsigned blocks;           ///< least blocks of a multiprocessor, which bounds the registers of a thread
  unsigned most_span_items;  ///< rows and entries of the longest span
  std::size_t bringing;      ///< what loading a span costs, in items: the larger, the longer are spans
};

/// What one shape of votes over rows in order is compiled for.
struct OrderedVoteTuning {
  unsigned threads;           ///< of a block
  unsigned blocks;            ///< least blocks of a multiprocessor, which bounds the registers of a thread
  unsigned batch;             ///< neighbours of a set of lanes on their way at a time
  bool words_at_once;         ///< counts of all words of a lane are written at once: takes so much more shared memory
  int sets_power_of_bits;     ///< some sets have rows of fewer than 2^n entries: output of bits,
  int sets_power_of_numbers;  ///< and of numbers
};

/// Votes over pattern CSR.
struct CudaVoteTuning {
  // Chosen for a call.
  /// (rows + entries) x words up to which warps take rows as they come; equal spans above ("Small graphs").
  std::size_t small_vote = std::size_t{1} << 21;
  std::size_t vote_warps = 4096;     ///< that keep the device busy: warps take fewer rows below ("Small graphs")
  std::uint64_t lone_longer = 4;     ///< rows that a whole warp counts, in entries, where a warp has one row,
  std::uint64_t shared_longer = 16;  ///< and where it has a few; where it has all that fit `long_row` counts
  /// Entries from which votes in order take the large shape, `ordered_many` ("Votes in a row order").
  std::uint64_t large_ordered_vote = std::uint64_t{1} << 25;

  // Compiled into kernels.
  std::uint64_t long_row = 64;   ///< entries from which a warp has a row ("Votes in a row order")
  std::uint64_t hub_row = 1024;  ///< entries from which a block has a row ("Votes in a row order")
  unsigned slice_words = 16;  ///< of 32 features that a kernel counts; wider rows go in slices ("Votes in a row order")
  unsigned batch = 8;         ///< neighbours of a set of lanes on their way at a time ("Votes in a row order"),
  unsigned wide_batch = 4;    ///< and where a lane has four words: 16 bytes of each
  unsigned blocks = 5;        ///< least blocks of a multiprocessor: spmm_vote, spmm_vote_direct
  unsigned block_chunks = 4;  ///< chunks of rows and entries that a block of spmm_vote takes
  unsigned class_width = 8;   ///< lengths of short rows that spmm_vote puts side by side
  unsigned enough_blocks = 1024;  ///< fewer blocks than this share their chunks with more blocks,
  unsigned most_parts = 32;       ///< up to so many a chunk

  // Classes of rows in order by length ("Votes in a row order": borders between the classes, lanes for long rows).
  OrderedVoteTuning ordered_few{256, 2, 8, true, 9, 8};
  OrderedVoteTuning ordered_many{768, 1, 4, false, 12, 12};
  unsigned sets_of_row = 4;            ///< sets of lanes that share a row of the second class
  int low_planes = 7;                  ///< bits of a count that are always added; further ones where a row needs them
  int warp_planes = 14;                ///< bits of counts of a warp: it has no row of 2^14 entries
  int set_planes_of_bits = 5;          ///< bits of counts of rows that have one set: output of bits,
  int set_planes_of_numbers = 4;       ///< and of numbers, which take longer to write
  std::uint64_t warps_of_bits = 2000;  ///< warps that share the entries at one time: a row of more than a share is a
  std::uint64_t warps_of_numbers = 1000;  ///< hub; output of bits, and of numbers
  // Borders are powers of two. "Root" is that of half the square root of the graph's entries.
  std::size_t few_root = 9;        ///< root below which several sets have rows half as long
  std::size_t long_root = 12;      ///< root below which a warp has rows half as long: bits, one lane a row of X
  std::size_t least_warp_row = 7;  ///< a warp has no shorter rows
  std::size_t least_hub = 8;       ///< a block has no shorter rows
};

/// Sums over pattern CSR.
struct CudaSumTuning {
  // Chosen for a call.
  std::size_t few_features = 64;                        ///< half a warp has a row of so many ("Sums of few features")
  std::uint64_t many_entries = std::uint64_t{1} << 20;  ///< more than the caches take ("Slices of 64 features")
  std::uint64_t even_row = 255;                         ///< entries of the longest row of a graph of even rows
  std::uint64_t even_share = 4;                         ///< times the mean length: a longer row makes a graph uneven
  std::uint64_t mesh_entries_a_row = 8;                 ///< a mesh has fewer entries a row ("Meshes"),
  std::uint32_t mesh_rows = std::uint32_t{1} << 18;     ///< and more rows ("Meshes")
  std::uint64_t short_row_entries = 24;  ///< mean length below which rows count as short ("Sums in a row order")
  /// Fewer lanes leave a quarter of the device idle ("Sums in a row order").
  std::size_t idle_lanes_a_multiprocessor = 512;
  /// Mean length from which a row takes more lanes ("Sums in a row order").
  std::uint64_t entries_for_more_lanes = 16;
  unsigned early_blocks_a_multiprocessor = 8;  ///< up to so many the next kernel may start early ("Early launches")
  /// Items of a span from which the next kernel starts early only where blocks fill some fifths of the device
  /// ("Early launches").
  unsigned long_span = 1024;
  unsigned full_fifths = 4;
  unsigned least_span_items = 256;         ///< rows and entries of the shortest span ("Sums with weights")
  std::uint64_t copy_entries_a_row = 64;   ///< gathers a row of X, from which a copy of X pays ("Sums of few features")
  std::uint64_t hub_share = 64;            ///< a row of more than 1/64 of all entries is a hub ("Sums of few features")
  std::uint64_t fp16_entries = 1'900'000;  ///< gathers from which a copy in 16 bits pays ("Signs from 16-bit numbers"),
  std::uint64_t fp16_entries_a_row = 14;   ///< and for each row of X ("Signs from 16-bit numbers")

  // Classes of rows in order by length ("Sums in a row order": hubs, even rows). Borders are powers of two. "Root" is
  // that of the square root of the graph's entries.
  unsigned least_root = 7;           ///< the root counts as so much at least,
  unsigned most_root = 12;           ///< and so much at most
  unsigned few_root = 10;            ///< root below which a graph has few entries
  unsigned below_root_of_few = 3;    ///< a group has rows up to so many powers below the root: few entries,
  unsigned below_root_of_many = 2;   ///< and many
  unsigned even_row_power = 4;       ///< the same border where rows are few and even
  std::uint64_t long_mean = 48;      ///< mean entries from which a warp has rows half as long
  unsigned warp_powers = 2;          ///< a warp has rows so many powers above a group's,
  unsigned warp_powers_of_lone = 1;  ///< and where its group is the whole warp
  unsigned block_powers = 2;         ///< a block has rows so many powers above a warp's; longer ones have several

  // Compiled into kernels.
  /// Rows of a mesh have no more entries: they are kept in shared memory ("Meshes").
  std::uint64_t mesh_longest_row = 16;
  unsigned mesh_block_rows = 64;   ///< rows of a block of a mesh ("Meshes")
  unsigned mesh_rows_at_once = 2;  ///< rows that a group of a mesh takes at a time ("Meshes")
  unsigned mesh_blocks = 4;        ///< least blocks of a multiprocessor: spmm_sum_mesh
  unsigned row_blocks = 4;         ///< the same: spmm_sum_short, spmm_sum_ordered ("Sums in a row order": registers),
  unsigned row_blocks_of_ragged = 3;  ///< and of floats that begin anywhere
  unsigned fp16_blocks = 4;           ///< the same: spmm_signs_of_fp16 ("Signs from 16-bit numbers")
  unsigned fp16_copy_rows = 4;        ///< rows of X that a lane of the copy takes
  std::uint32_t fp16_short_row = 64;  ///< entries up to which a group takes an open sign; a warp above
  unsigned open_batch = 8;            ///< entries of an open sign that a lane of a group has on their way,
  unsigned open_batch_of_warp = 16;   ///< and a lane of a warp ("Signs from 16-bit numbers": 512 entries in flight)

  // Spans ("Sums with weights": four in flight and five blocks, spans of 2,048, bits by three blocks).
  SpanSumTuning of_floats{4, 5, 2048, 150};         ///< rows of whole fours
  SpanSumTuning of_ragged_floats{4, 4, 2048, 150};  ///< rows that begin anywhere
  SpanSumTuning of_bits{8, 3, 1024, 150};           ///< signs with weights
  SpanSumTuning of_bfloats{4, 4, 2048, 150};        ///< bfloat16, rows of whole fours
  SpanSumTuning of_ragged_bfloats{4, 3, 2048, 150};
  // "Sums of few features".
  SpanSumTuning narrow{8, 4, 2048, 800};        ///< up to 32 features
  SpanSumTuning narrow_of_64{8, 4, 1024, 800};  ///< 33 to 64 features
  unsigned narrow_fours = 2048;    ///< fours of floats in shared memory: sums of the rows of a part of a span
  unsigned narrow_mean_rows = 4;   ///< times the mean rows of a span that shared memory is taken for,
  unsigned narrow_more_rows = 64;  ///< and so many more
};

/// Votes and sums over tiles.
struct CudaTileTuning {
  /// Mean tiles from which words of the graph's bits are quicker ("Votes over tiles").
  std::uint64_t long_tile_row = 24;
  int word_tile_dim = 8;          ///< in tiles of up to this side ("Votes over tiles")
  std::uint64_t many_tiles = 64;  ///< a row of more tiles has a warp, else a set of lanes

  // Votes by words ("Votes over tiles": even shares).
  std::uint64_t warps = 8192;                                ///< that the tiles are shared out to, if shares are of
  std::uint64_t least_share = 4;                             ///< so many words of a tile row at least,
  std::uint64_t most_share = 32;                             ///< and so many at most
  std::uint64_t long_row_words = 8;                          ///< words from which a tile row may be cut
  std::uint64_t items_a_row = 4;                             ///< tiles that writing a tile row counts as
  std::uint64_t least_slots = 64;                            ///< cut tile rows there is room for, whatever they take
  std::uint64_t least_slot_bytes = std::uint64_t{16} << 20;  ///< memory for cut tile rows, and
  std::uint64_t slot_share = 4;                              ///< a quarter of the tiles' bytes where that is more
};

struct CudaSpmmTuning {
  unsigned block_threads = 256;  ///< of a block of every kernel but `vote.ordered_many`
  unsigned queue_columns = 128;  ///< columns of a warp in shared memory at a time
  CudaVoteTuning vote;
  CudaSumTuning sum;
  CudaTileTuning tiles;
};

/// Measured on compute capability 9.0; no other has been measured, so all have these. A constant expression: kernels
/// are compiled for some of the fields.
inline constexpr CudaSpmmTuning cuda_spmm_on_9_0{};
[[nodiscard]] constexpr const CudaSpmmTuning& cuda_spmm_tuning() noexcept { return cuda_spmm_on_9_0; }

/// How the work is shared out; the kernels follow from the types alone. docs/notebook/spmm.md, "Votes on the CPU".
struct CpuSpmmTuning {
  // Turns of a thread: enough that uneven parts even out, few enough that each is worth it.
  std::size_t turns = 6;              ///< over blocks of rows
  std::size_t sell_turns = 16;        ///< over parts of a SellPattern
  std::size_t tile_word_turns = 16;   ///< over tile rows that are taken as words
  std::size_t least_sell_chunks = 8;  ///< of a part
  std::size_t least_block_rows = 64;  ///< of a block of rows, whatever the turns
  std::size_t tile_word_rows = 4096;  ///< rows of tiles taken as words that a thread takes at most
  /// Rows of X are not fetched for a few rows: of a graph that is cut into strips a thread takes so many.
  std::size_t rows_of_strip = 2048;

  // Compiled into kernels.
  std::size_t most_block_rows = 2048;   ///< a block is sorted by degree in arrays on the stack
  std::size_t sorted_degrees = 64;      ///< rows of fewer entries are sorted exactly, so no branch is mispredicted
  std::size_t sorted_tails = 16;        ///< longer rows are sorted by their degree modulo this
  std::size_t prefetched_entries = 16;  ///< entries ahead that sums fetch rows of X
  std::size_t tile_entries = 16384;     ///< of rows of tiles that are put together in a buffer on the stack
  std::size_t long_row_features = 256;  ///< of a row that does not fit the buffer, added up at a time
};

inline constexpr CpuSpmmTuning cpu_spmm_with_avx512{};
[[nodiscard]] constexpr const CpuSpmmTuning& cpu_spmm_tuning() noexcept { return cpu_spmm_with_avx512; }

}  // namespace bitgraph
