// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace bitgraph {

/// File formats of a graph. By name: .mtx; .txt, .csv, .tsv, .edgelist (SNAP lists); .graph (METIS); .npz (SciPy CSR,
/// or the adjacency of a gnn-benchmark data set); .b2sr. The text formats may be gzipped (.gz behind the name).
enum class GraphFormat { matrix_market, edge_list, metis, npz, b2sr };

/// Format of a file by its name. Throws usage for an unknown ending.
[[nodiscard]] GraphFormat graph_format_of(const std::filesystem::path& path);

struct LoadOptions {
  bool undirected = false;      ///< add the other direction of every entry
  bool ignore_weights = false;  ///< take the pattern of a weighted file; else values other than 1 are reported in Graph
  bool keep_weights = false;    ///< fill Graph::weights
};

/// A graph as a file gives it. Entry (i, j) is the edge i -> j; duplicates are merged, loops and explicit zeros kept.
struct Graph {
  CsrPattern pattern;
  Buffer<std::uint64_t>
      ids;                ///< edge lists: the file's id of node i, where ids had gaps or did not start at 0; else empty
  bool weighted = false;  ///< the file has a value other than 1
  /// With keep_weights, where the file is weighted: one for each entry of `pattern`, as the file has them (they may be
  /// 0, negative or no number). An undirected graph has them in both directions; of duplicates the smallest counts, in
  /// SciPy's matrices their sum, as there.
  Buffer<float> weights;
  std::optional<BitTileMatrix> tiles;  ///< .b2sr: the tiles as mapped, when the file holds tiles
  Buffer<NodeId> new_id;               ///< .b2sr of a reordered graph: what was node i is node new_id[i]; else empty
};

/// Reads a graph of any format.
///
/// Node i of the result is node i of the file (1-based formats counted from 0); an edge list with gaps is compacted in
/// increasing order of id. Parsing is parallel on the device's threads. Throws bad_input with file, line (or byte),
/// what was found and what was expected; memory stays within a small multiple of the file's size whatever its header
/// promises.
[[nodiscard]] Graph load_graph(const std::filesystem::path& path, const LoadOptions& options = {},
                               const Device& device = {});

/// Writes a pattern in the format of the path's name, gzipped for .gz; the file appears whole or not at all.
/// A symmetric pattern is written once per pair where the format has a way to say so (Matrix Market). Throws usage
/// where the format cannot hold the graph (METIS: square, symmetric, no loops).
void save_graph(const CsrPattern& a, const std::filesystem::path& path, const Device& device = {});

/// Writes tiles as .b2sr.
void save_graph(const BitTileMatrix& a, const std::filesystem::path& path);

/// What a .b2sr file holds (docs/formats.md): tiles or a pattern, and where the numbers of its nodes come from.
struct B2srFile {
  std::optional<BitTileMatrix> tiles;  ///< either tiles
  std::optional<CsrPattern> pattern;   ///< or a pattern CSR
  Buffer<NodeId> new_id;               ///< a reordered graph: what was node i is node new_id[i] here; else empty
  Buffer<std::uint64_t> ids;           ///< the id of node i in an edge list it was read from; else empty
};

/// Maps a .b2sr file. The header is checked, the arrays are not read: the time does not depend on the file's size.
/// Call verify_b2sr (or load_graph, which does) on files that are not your own: operators trust what they are given.
///
/// The arrays borrow the mapping, which is private: writing to them changes no file. A file must not be shortened or
/// written to in place while it is mapped; this library's writers put a new file in its place, which does no harm.
/// Throws bad_input.
[[nodiscard]] B2srFile open_b2sr(const std::filesystem::path& path, const Device& device = {});

/// open_b2sr for a file that must hold tiles. Throws bad_input where it holds a pattern.
[[nodiscard]] BitTileMatrix map_b2sr(const std::filesystem::path& path);

/// Reads a file's arrays once: compares the checksum and every invariant. Throws bad_input.
void verify_b2sr(const std::filesystem::path& path, const Device& device = {});

/// Writes a .b2sr file. Throws usage unless there are either tiles or a pattern, and where new_id is no permutation of
/// the nodes or ids are not one a node. The file appears whole or not at all.
void save_b2sr(const B2srFile& file, const std::filesystem::path& path);

}  // namespace bitgraph
