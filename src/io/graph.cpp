// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/io/graph.hpp>

#include "io/file.hpp"
#include "io/graph_readers.hpp"
#include "io/gzip.hpp"
#include "io/text_output.hpp"

#include <array>
#include <string>
#include <utility>

namespace bitgraph {

namespace {

constexpr std::array<std::pair<std::string_view, GraphFormat>, 8> endings{{{".mtx", GraphFormat::matrix_market},
                                                                           {".txt", GraphFormat::edge_list},
                                                                           {".csv", GraphFormat::edge_list},
                                                                           {".tsv", GraphFormat::edge_list},
                                                                           {".edgelist", GraphFormat::edge_list},
                                                                           {".graph", GraphFormat::metis},
                                                                           {".npz", GraphFormat::npz},
                                                                           {".b2sr", GraphFormat::b2sr}}};

bool has_gz(const std::filesystem::path& path) { return path.extension() == ".gz"; }

/// The name without .gz.
std::filesystem::path inner_name(const std::filesystem::path& path) { return has_gz(path) ? path.stem() : path; }

bool is_text(GraphFormat format) {
  return format == GraphFormat::matrix_market || format == GraphFormat::edge_list || format == GraphFormat::metis;
}

Graph read_text(GraphFormat format, std::string_view text, const std::string& name, const LoadOptions& options,
                const Device& device) {
  switch (format) {
    case GraphFormat::matrix_market: return read_matrix_market(text, name, options, device);
    case GraphFormat::metis: return read_metis(text, name, options, device);
    default: return read_edge_list(text, name, options, device);
  }
}

void write_text(GraphFormat format, const CsrPattern& a, const std::filesystem::path& ending, TextOutput& out) {
  switch (format) {
    case GraphFormat::matrix_market: return write_matrix_market(a, out);
    case GraphFormat::metis: return write_metis(a, out);
    default: return write_edge_list(a, ending == ".csv" ? ',' : ending == ".tsv" ? '\t' : ' ', out);
  }
}

}  // namespace

GraphFormat graph_format_of(const std::filesystem::path& path) {
  const std::filesystem::path inner = inner_name(path);
  for (const auto& [ending, format] : endings) {
    if (inner.extension() == ending && (!has_gz(path) || is_text(format))) return format;
  }
  fail(ErrorCode::usage, path.string() +
                             ": unknown graph format: use .mtx, .txt, .csv, .tsv, .edgelist, .graph (each perhaps with "
                             ".gz), .npz or .b2sr");
}

Graph load_graph(const std::filesystem::path& path, const LoadOptions& options, const Device& device) {
  const GraphFormat format = graph_format_of(path);
  const std::string name = path.string();
  if (format == GraphFormat::b2sr) return read_b2sr_graph(path, options, device);
  const auto file = MappedFile::open(path);
  if (format == GraphFormat::npz) return read_npz_graph(file->bytes(), name, options, device);
  // What is packed is seen in the file; its name is not to be trusted.
  if (!has_gz(path) && !is_gzip(file->bytes())) return read_text(format, file->text(), name, options, device);
  const Buffer<std::byte> plain = gunzip(file->bytes(), name, device);
  return read_text(format, {reinterpret_cast<const char*>(plain.data()), plain.size()}, name, options, device);
}

void save_graph(const CsrPattern& a, const std::filesystem::path& path, const Device& device) {
  const GraphFormat format = graph_format_of(path);
  if (format == GraphFormat::b2sr) return write_b2sr_graph(a, path);
  if (format == GraphFormat::npz) return write_npz_graph(a, path);
  AtomicFile file(path);
  TextOutput out([&](std::span<const std::byte> bytes) { file.write(bytes); }, has_gz(path), device);
  write_text(format, a, inner_name(path).extension(), out);
  file.commit();
}

}  // namespace bitgraph
