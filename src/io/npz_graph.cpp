// SPDX-License-Identifier: Apache-2.0
// Graphs in .npz: SciPy's sparse matrices (csr, csc, coo), and the adjacency of gnn-benchmark data sets.
#include "io/file.hpp"
#include "io/graph_readers.hpp"
#include "io/npz_sparse.hpp"

namespace bitgraph {

namespace {

Graph read_scipy(const NpzReader& reader, const Device& device) {
  // SciPy names the format in a member of its own; without it the members tell, and CSR is meant.
  std::string format = reader.text("format");
  if (format.empty()) format = reader.contains("indptr") ? "csr" : reader.contains("row") ? "coo" : "";
  Graph graph;
  if (format == "coo") {
    graph.pattern = read_coordinates(reader, graph.weighted, device);
  } else if (format == "csr" || format == "csc") {
    auto sparse = read_compressed(reader, "", format == "csr" ? Compressed::rows : Compressed::columns, device);
    graph.weighted = sparse.weighted;
    graph.pattern = std::move(sparse.pattern);
  } else if (format.empty()) {
    fail_in(reader.name(), "holds neither a SciPy sparse matrix nor adj_data, adj_indices, adj_indptr, adj_shape");
  } else {
    reader.refuse("format", "found '" + printable(format) + "', expected csr, csc or coo");
  }
  return graph;
}

}  // namespace

Graph read_npz_graph(std::span<const std::byte> bytes, const std::string& name, const LoadOptions& options,
                     const Device& device) {
  const NpzReader reader(bytes, name);
  Graph graph;
  if (reader.contains("adj_indptr")) {
    auto sparse = read_compressed(reader, "adj_", Compressed::rows, device);
    graph.weighted = sparse.weighted;
    graph.pattern = std::move(sparse.pattern);
  } else {
    graph = read_scipy(reader, device);
  }
  if (options.undirected) {
    if (graph.pattern.nrows() != graph.pattern.ncols())
      fail_in(name, "found a rectangular matrix, expected a square one for an undirected graph");
    graph.pattern = symmetrized(graph.pattern);
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
