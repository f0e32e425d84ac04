// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/io/node_ids.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph {

/// File formats of a graph. By name: .mtx; .txt, .csv, .tsv, .edgelist (SNAP lists); .graph (METIS); .npz (SciPy CSR,
/// or the adjacency of a gnn-benchmark data set); .b2sr. The text formats may be gzipped (.gz behind the name).
enum class GraphFileFormat { matrix_market, edge_list, metis, npz, b2sr };

/// Format of a file by its name. Throws usage for an unknown ending.
[[nodiscard]] GraphFileFormat graph_file_format_of(const std::filesystem::path& path);

/// "mtx", "list", "metis", "npz", "b2sr". Throws usage for another name.
[[nodiscard]] GraphFileFormat graph_file_format_from_string(std::string_view name);

/// What the ids of an edge list are.
enum class ListIds {
  automatic,  ///< words in a table (commas, semicolons or tabs) whose first edge has one, else numbers
  numbers,    ///< whole numbers below 2^64
  words       ///< any text
};

/// Whether an edge list begins with a line of names.
enum class ListHeader {
  automatic,  ///< a first line that begins with a letter, a quote or an underscore; of words in a table, the first line
  present,
  absent
};

/// How to read an edge list. By default a line has two ids and perhaps a weight.
struct ListOptions {
  /// The source, the target, and perhaps the weight: names of the header line, or numbers from 1. Empty: the first two
  /// columns, and a third one as weight.
  std::vector<std::string> columns;
  char delimiter = 0;  ///< ' ' means blanks; 0: what the first line has of tab, semicolon, comma, else blanks
  ListIds ids = ListIds::automatic;
  ListHeader header = ListHeader::automatic;
};

struct LoadOptions {
  bool undirected = false;      ///< add the other direction of every entry
  bool ignore_weights = false;  ///< take the pattern of a weighted file; else values other than 1 are reported in Graph
  bool keep_weights = false;    ///< fill Graph::weights
  ListOptions list;             ///< of edge lists
  std::optional<GraphFileFormat> format;  ///< instead of what the name says
};

/// A graph as a file gives it. Entry (i, j) is the edge i -> j; duplicates are merged, loops and explicit zeros kept.
struct Graph {
  CsrPattern pattern;
  NodeIds ids;              ///< what the file calls its nodes
  bool renumbered = false;  ///< the ids are not 0 .. n-1 or 1 .. n in the order of the nodes
  std::string header;       ///< of an edge list: the line that was taken for names of columns
  bool weighted = false;    ///< the file has a value other than 1
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
/// "-" reads standard input to its end; options.format says what it is.
[[nodiscard]] Graph load_graph(const std::filesystem::path& path, const LoadOptions& options = {},
                               const Device& device = {});

/// Writes a pattern in the format of the path's name, gzipped for .gz; the file appears whole or not at all.
/// A symmetric pattern is written once per pair where the format has a way to say so (Matrix Market). Throws usage
/// where the format cannot hold the graph (METIS: square, symmetric, no loops).
void save_graph(const CsrPattern& a, const std::filesystem::path& path, const Device& device = {});

/// The same with the ids of the nodes where the format holds some: edge lists and .b2sr; see holds_ids(). Words that
/// have a comma, a tab, a quote or a blank in them are quoted in .csv and .tsv; throws usage for such a word in a list
/// with blanks.
void save_graph(const CsrPattern& a, const NodeIds& ids, const std::filesystem::path& path, const Device& device = {});

/// Whether the format of this name holds any ids; the others number the nodes themselves.
[[nodiscard]] bool holds_ids(const std::filesystem::path& path);

/// Writes tiles as .b2sr.
void save_graph(const BitTileMatrix& a, const std::filesystem::path& path);

/// What a .b2sr file holds (docs/formats.md): tiles or a pattern, and where the numbers of its nodes come from.
struct B2srFile {
  std::optional<BitTileMatrix> tiles;  ///< either tiles
  std::optional<CsrPattern> pattern;   ///< or a pattern CSR
  Buffer<NodeId> new_id;               ///< a reordered graph: what was node i is node new_id[i] here; else empty
  NodeIds ids;                         ///< what the file that it was read from calls node i
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
