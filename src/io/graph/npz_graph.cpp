// SPDX-License-Identifier: Apache-2.0
// Graphs in .npz: SciPy's sparse matrices (csr, csc, coo), and the adjacency of gnn-benchmark data sets.
#include "io/array/npz_sparse.hpp"
#include "io/file/file.hpp"
#include "io/graph/entry_weights.hpp"
#include "io/graph/graph_readers.hpp"

namespace bitgraph {

namespace {

NpzSparse read_scipy(const NpzReader& reader, const Device& device) {
  // SciPy names the format in a member of its own; without it the members tell, and CSR is meant.
  std::string format = reader.text("format");
  if (format.empty()) format = reader.contains("indptr") ? "csr" : reader.contains("row") ? "coo" : "";
  if (format == "coo") return read_coordinates(reader, device);
  if (format == "csr" || format == "csc") {
    return read_compressed(reader, "", format == "csr" ? Compressed::rows : Compressed::columns, device);
  }
  if (format.empty()) {
    fail_in(reader.name(), "holds neither a SciPy sparse matrix nor adj_data, adj_indices, adj_indptr, adj_shape");
  }
  reader.refuse("format", "found '" + printable(format) + "', expected csr, csc or coo");
}

/// The row of every entry.
Buffer<NodeId> rows_of(const CsrPattern& a, const Device& device) {
  Buffer<NodeId> rows(a.nvals(), device);
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (EdgeOffset e = a.row_ptr()[i]; e < a.row_ptr()[i + 1]; ++e) rows[e] = i;
  }
  return rows;
}

}  // namespace

Graph read_npz_graph(std::span<const std::byte> bytes, const std::string& name, const LoadOptions& options,
                     const Device& device) {
  const NpzReader reader(bytes, name);
  NpzSparse sparse = reader.contains("adj_indptr") ? read_compressed(reader, "adj_", Compressed::rows, device)
                                                   : read_scipy(reader, device);
  Graph graph;
  graph.weighted = sparse.weighted;
  const bool weights = options.keep_weights && graph.weighted;
  if (options.undirected) {
    if (sparse.pattern.nrows() != sparse.pattern.ncols())
      fail_in(name, "found a rectangular matrix, expected a square one for an undirected graph");
    graph.pattern = symmetrized(sparse.pattern);
    if (weights) {
      graph.weights = weights_of_entries(graph.pattern, rows_of(sparse.pattern, device).span(),
                                         sparse.pattern.col_ind(), sparse.values.span(), Mirror::same, device);
    }
  } else {
    graph.pattern = std::move(sparse.pattern);
    if (weights) graph.weights = std::move(sparse.values);
  }
  return graph;
}

void write_npz_graph(const CsrPattern& a, const std::filesystem::path& path) {
  std::map<std::string, Array> members;
  const Buffer<float> ones(a.nvals(), 1.0F);
  put_csr(members, "", a, ones.span());
  save_npz(path, members, {{"format", "csr"}});
}

}  // namespace bitgraph
