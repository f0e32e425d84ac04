// SPDX-License-Identifier: Apache-2.0
// Graphs in .npz: SciPy's sparse matrices (csr, csc, coo), and the adjacency of gnn-benchmark data sets.
#include "io/file.hpp"
#include "io/graph_readers.hpp"
#include "io/npz.hpp"

#include <algorithm>
#include <limits>

namespace bitgraph {

namespace {

bool has_other_than_one(std::span<const float> values) {
  return std::any_of(values.begin(), values.end(), [](float v) { return v != 1.0F; });
}

Graph from_coordinates(const NpzMembers& members, const std::string& name, const Device& device) {
  const auto shape = members.contains("shape") ? members.at("shape").as<std::uint64_t>() : Buffer<std::uint64_t>{};
  if (shape.size() != 2 || std::max(shape[0], shape[1]) >= std::numeric_limits<NodeId>::max()) {
    fail_in(name, "lacks a 'shape' of two sides below 2^32 - 1");
  }
  const auto rows = members.at("row").as<std::uint32_t>();
  const auto cols = members.at("col").as<std::uint32_t>();
  Graph graph;
  try {
    graph.pattern = csr_from_edges(static_cast<NodeId>(shape[0]), static_cast<NodeId>(shape[1]), rows.span(),
                                   cols.span(), {}, device);
  } catch (const Error& error) {
    fail_in(name, error.what());
  }
  if (members.contains("data")) graph.weighted = has_other_than_one(members.at("data").as<float>().span());
  return graph;
}

}  // namespace

Graph read_npz_graph(std::span<const std::byte> bytes, const std::string& name, const LoadOptions& options,
                     const Device& device) {
  const NpzMembers members = read_npz(
      bytes, name,
      {"adj_data", "adj_indices", "adj_indptr", "adj_shape", "data", "indices", "indptr", "shape", "row", "col"});
  Graph graph;
  if (members.contains("row") && members.contains("col")) {
    graph = from_coordinates(members, name, device);
  } else {
    // SciPy names the format in a member of strings; a CSC is told from a CSR by it.
    const bool by_column = members.contains("indptr") && read_npz_string(bytes, name, "format") == "csc";
    auto sparse = read_sparse(members, members.contains("adj_indptr") ? "adj_" : "", by_column, name, device);
    if (!sparse) fail_in(name, "holds neither a SciPy sparse matrix nor adj_data, adj_indices, adj_indptr, adj_shape");
    graph.weighted = has_other_than_one(sparse->values.span());
    graph.pattern = std::move(sparse->pattern);
  }
  if (options.undirected) {
    if (graph.pattern.nrows() != graph.pattern.ncols())
      fail_in(name, "found a rectangular matrix, expected a square one for an undirected graph");
    graph.pattern = symmetrized(graph.pattern);
  }
  return graph;
}

void write_npz_graph(const CsrPattern& a, const std::filesystem::path& path) {
  const auto array = [](ElementType type, std::uint64_t size, auto span) {
    return Array{type, {size}, Buffer<std::byte>::copy_of(std::as_bytes(span))};
  };
  const std::vector<std::uint8_t> ones(a.nvals(), 1);
  const std::vector<std::int64_t> shape{a.nrows(), a.ncols()};
  std::map<std::string, Array> members;
  members["data"] = array(ElementType::u8, a.nvals(), std::span(ones));
  members["indices"] = array(ElementType::u32, a.nvals(), a.col_ind());
  members["indptr"] = array(ElementType::u64, a.row_ptr().size(), a.row_ptr());
  members["shape"] = array(ElementType::i64, 2, std::span(shape));
  save_npz(path, members);
}

}  // namespace bitgraph
