// SPDX-License-Identifier: Apache-2.0
// What the steps of commands cost, for --estimate: nanoseconds on one thread of the machine that docs/cli.md
// names, and bytes.
#pragma once

#include <array>
#include <string_view>

namespace bitgraph::cli::rates {

inline constexpr double copy_bandwidth = 16e9;  ///< bytes a second, read and written, of one thread of that machine
inline constexpr double thread_gain = 0.6;      ///< what a further thread adds
inline constexpr double program_bytes = 13e6;   ///< of the program itself
inline constexpr double start_seconds = 0.012;  ///< of the program
inline constexpr double device_start_seconds = 0.5, device_pack_seconds = 0.3;  ///< of CUDA; of its kernels for packing
inline constexpr double device_factor = 60;  ///< how many times as fast as one thread a CUDA device mostly is

inline constexpr double ns = 1e-9;

// Reading, by bytes of text and entries of the matrix.
inline constexpr double text_byte = 1.2, gzip_byte = 2.5, assemble_entry = 38, assemble_node = 4, npz_entry = 15;
inline constexpr double b2sr_byte = 0.2, unpack_entry = 4;
inline constexpr double pair_bytes = 8, weight_bytes = 4, assemble_entry_bytes = 1.15;

// Packing, an entry: the pattern copied, its tiles; the sample that --tile auto looks at; whether it is symmetric.
inline constexpr double pack_entry = 6, tile_entry = 30, advise_entry = 9, undirected_entry = 8, transpose_entry = 12;
inline constexpr double count_entry = 70, count_tiles_entry = 20;  ///< all that info counts; in another order
// Orders, an entry.
inline constexpr double order_degree = 36, order_rcm = 90, order_community = 60;

// Partitioning by METIS: an entry, and again for each halving of the parts; bytes held meanwhile.
inline constexpr double partition_entry = 120, partition_entry_level = 30;
inline constexpr double partition_entry_bytes = 45, partition_node_bytes = 20;

// Writing, a byte of text; an entry of a binary file.
inline constexpr double write_text_byte = 4.5, write_gzip_byte = 30, write_b2sr_byte = 2, write_npz_entry = 2500;

/// One pass of an algorithm: a search, an iteration, or all of it.
struct Algorithm {
  std::string_view name;
  double entry, node;             ///< nanoseconds a pass
  double squared = 0;             ///< the same, an entry and squared mean degree
  double skewed = 0;              ///< the same, an entry and mean degree times skew to the power
  double power = 0.5;             ///< of the skew
  double level_node = 0;          ///< the same, a node and level of a search
  double node_bytes = 8;          ///< held beside the graph
  double faster = device_factor;  ///< how many times as fast as one thread a CUDA device is
};

inline constexpr std::array algorithms{
    Algorithm{.name = "bfs", .entry = 0.9, .node = 15},
    Algorithm{.name = "sssp", .entry = 0.2, .node = 15},
    Algorithm{.name = "sssp, weighted", .entry = 12, .node = 40, .node_bytes = 16},
    Algorithm{.name = "pagerank", .entry = 1.7, .node = 3, .node_bytes = 24},
    Algorithm{.name = "cc", .entry = 0.4, .node = 4},
    Algorithm{.name = "cc --strong", .entry = 0.8, .node = 4},
    Algorithm{.name = "tc", .entry = 0.3, .node = 1, .squared = 0.046},
    Algorithm{.name = "tc of nodes", .entry = 4, .node = 20, .skewed = 1.2},
    Algorithm{.name = "mis", .entry = 4, .node = 33},
    Algorithm{.name = "color", .entry = 30, .node = 8, .skewed = 0.85, .power = 0.75},
    Algorithm{.name = "diameter", .entry = 0.5, .node = 20},
    Algorithm{.name = "betweenness", .entry = 8, .node = 220, .node_bytes = 40},
    Algorithm{.name = "closeness", .entry = 3.5, .node = 10, .level_node = 8},
    Algorithm{.name = "msbfs", .entry = 3, .node = 5, .level_node = 6.5},
};

// Generating, a draw or an entry.
inline constexpr double rmat_draw_level = 30, uniform_draw = 90, mesh_entry = 20, planted_entry = 200,
                        planted_feature = 8;

// Networks: a multiplication of floats, of set features in floats and in bits; an entry and column of an aggregation in
// floats, of binary products, of a vote.
inline constexpr double float_product = 0.06, sparse_product = 0.25, bit_product = 0.1;
inline constexpr double float_aggregate = 0.4, full_aggregate = 0.2, vote = 0.05;
inline constexpr double training_factor = 6, epoch_seconds = 2e-3;  ///< an epoch: so many runs in floats, and more

}  // namespace bitgraph::cli::rates
