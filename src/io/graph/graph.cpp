// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/io/graph.hpp>

#include "core/names.hpp"
#include "core/preconditions.hpp"
#include "io/file/file.hpp"
#include "io/file/gzip.hpp"
#include "io/graph/graph_readers.hpp"
#include "io/text/text_output.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace bitgraph {

namespace {

constexpr std::array<std::pair<std::string_view, GraphFileFormat>, 8> endings{
    {{".mtx", GraphFileFormat::matrix_market},
     {".txt", GraphFileFormat::edge_list},
     {".csv", GraphFileFormat::edge_list},
     {".tsv", GraphFileFormat::edge_list},
     {".edgelist", GraphFileFormat::edge_list},
     {".graph", GraphFileFormat::metis},
     {".npz", GraphFileFormat::npz},
     {".b2sr", GraphFileFormat::b2sr}}};

constexpr Names<GraphFileFormat, 5> formats{{{GraphFileFormat::matrix_market, "mtx"},
                                             {GraphFileFormat::edge_list, "list"},
                                             {GraphFileFormat::metis, "metis"},
                                             {GraphFileFormat::npz, "npz"},
                                             {GraphFileFormat::b2sr, "b2sr"}}};

bool has_gz(const std::filesystem::path& path) { return path.extension() == ".gz"; }

/// The name without .gz.
std::filesystem::path inner_name(const std::filesystem::path& path) { return has_gz(path) ? path.stem() : path; }

bool is_text(GraphFileFormat format) {
  return format == GraphFileFormat::matrix_market || format == GraphFileFormat::edge_list ||
         format == GraphFileFormat::metis;
}

Graph read_text(GraphFileFormat format, std::string_view text, const std::string& name, const LoadOptions& options,
                const Device& device) {
  switch (format) {
    case GraphFileFormat::matrix_market: return read_matrix_market(text, name, options, device);
    case GraphFileFormat::metis: return read_metis(text, name, options, device);
    default: return read_edge_list(text, name, options, device);
  }
}

/// Everything that comes from standard input.
Buffer<std::byte> read_to_end() {
  constexpr std::size_t least = std::size_t{1} << 20;
  Buffer<std::byte> bytes(least);
  std::size_t size = 0;
  for (;;) {
    if (size == bytes.size()) {
      Buffer<std::byte> larger(2 * size);
      std::copy_n(bytes.data(), size, larger.data());
      bytes = std::move(larger);
    }
    const ssize_t got = ::read(STDIN_FILENO, bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_in("standard input", std::string("cannot read: ") + std::strerror(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  auto whole = std::make_shared<Buffer<std::byte>>(std::move(bytes));
  std::byte* const data = whole->data();
  return Buffer<std::byte>::borrow(data, size, std::move(whole));
}

Graph read_standard_input(const LoadOptions& options, const Device& device) {
  const std::string name = "standard input";
  if (!options.format) fail(ErrorCode::usage, name + " has no ending that says its format: use --format");
  Buffer<std::byte> bytes = read_to_end();
  if (*options.format == GraphFileFormat::b2sr) return read_b2sr_graph(std::move(bytes), name, options, device);
  if (*options.format == GraphFileFormat::npz) return read_npz_graph(bytes.span(), name, options, device);
  if (is_gzip(bytes.span())) bytes = gunzip(bytes.span(), name, device);
  return read_text(*options.format, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name, options, device);
}

void write_text(GraphFileFormat format, const CsrPattern& a, const NodeIds& ids, const std::filesystem::path& ending,
                TextOutput& out) {
  switch (format) {
    case GraphFileFormat::matrix_market: return write_matrix_market(a, out);
    case GraphFileFormat::metis: return write_metis(a, out);
    default: return write_edge_list(a, ids, ending == ".csv" ? ',' : ending == ".tsv" ? '\t' : ' ', out);
  }
}

}  // namespace

GraphFileFormat graph_file_format_of(const std::filesystem::path& path) {
  const std::filesystem::path inner = inner_name(path);
  for (const auto& [ending, format] : endings) {
    if (inner.extension() == ending && (!has_gz(path) || is_text(format))) return format;
  }
  fail(ErrorCode::usage, path.string() +
                             ": unknown graph format: use .mtx, .txt, .csv, .tsv, .edgelist, .graph (each perhaps with "
                             ".gz), .npz or .b2sr");
}

GraphFileFormat graph_file_format_from_string(std::string_view name) { return value_of(formats, "graph format", name); }

bool holds_ids(const std::filesystem::path& path) {
  const GraphFileFormat format = graph_file_format_of(path);
  return format == GraphFileFormat::edge_list || format == GraphFileFormat::b2sr;
}

Graph load_graph(const std::filesystem::path& path, const LoadOptions& options, const Device& device) {
  require_host(device, "load_graph");
  if (path == "-") return read_standard_input(options, device);
  const GraphFileFormat format = options.format ? *options.format : graph_file_format_of(path);
  const std::string name = path.string();
  if (format == GraphFileFormat::b2sr) return read_b2sr_graph(path, options, device);
  const auto file = MappedFile::open(path);
  if (format == GraphFileFormat::npz) return read_npz_graph(file->bytes(), name, options, device);
  // What is packed is seen in the file; its name is not to be trusted.
  if (!has_gz(path) && !is_gzip(file->bytes())) return read_text(format, file->text(), name, options, device);
  const Buffer<std::byte> plain = gunzip(file->bytes(), name, device);
  return read_text(format, {reinterpret_cast<const char*>(plain.data()), plain.size()}, name, options, device);
}

void save_graph(const CsrPattern& a, const std::filesystem::path& path, const Device& device) {
  save_graph(a, NodeIds(), path, device);
}

void save_graph(const CsrPattern& a, const NodeIds& ids, const std::filesystem::path& path, const Device& device) {
  require_host(device, "save_graph");
  if (ids.size() != 0 && (ids.size() != a.nrows() || a.nrows() != a.ncols())) {
    fail(ErrorCode::usage, fmt::format("save_graph: {} ids for a matrix of {} x {}", ids.size(), a.nrows(), a.ncols()));
  }
  const GraphFileFormat format = graph_file_format_of(path);
  if (format == GraphFileFormat::b2sr) return write_b2sr_graph(a, ids, path);
  if (format == GraphFileFormat::npz) return write_npz_graph(a, path);
  AtomicFile file(path);
  TextOutput out([&](std::span<const std::byte> bytes) { file.write(bytes); }, has_gz(path), device);
  write_text(format, a, ids, inner_name(path).extension(), out);
  file.commit();
}

}  // namespace bitgraph
