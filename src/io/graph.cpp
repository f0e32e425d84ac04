// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/io/graph.hpp>

#include "io/file.hpp"
#include "io/graph_readers.hpp"
#include "io/gzip.hpp"

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

std::string write_text(GraphFormat format, const CsrPattern& a) {
  switch (format) {
    case GraphFormat::matrix_market: return write_matrix_market(a);
    case GraphFormat::metis: return write_metis(a);
    default: return write_edge_list(a);
  }
}

}  // namespace

GraphFormat graph_format_of(const std::filesystem::path& path) {
  const std::filesystem::path inner = has_gz(path) ? path.stem() : path.filename();
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
  if (!has_gz(path)) return read_text(format, file->text(), name, options, device);
  const Buffer<std::byte> plain = gunzip(file->bytes(), name, device);
  return read_text(format, {reinterpret_cast<const char*>(plain.data()), plain.size()}, name, options, device);
}

void save_graph(const CsrPattern& a, const std::filesystem::path& path, const Device&) {
  const GraphFormat format = graph_format_of(path);
  if (format == GraphFormat::b2sr) return write_b2sr_graph(a, path);
  if (format == GraphFormat::npz) return write_npz_graph(a, path);
  const std::string text = write_text(format, a);
  if (!has_gz(path)) return write_file(path, text);
  const Buffer<std::byte> packed = gzip(std::as_bytes(std::span(text.data(), text.size())));
  const std::array<std::span<const std::byte>, 1> parts{packed.span()};
  write_file(path, parts);
}

}  // namespace bitgraph
