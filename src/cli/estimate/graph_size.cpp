// SPDX-License-Identifier: Apache-2.0
#include "cli/estimate/graph_size.hpp"

#include <bitgraph/core/error.hpp>

#include "cli/command.hpp"
#include "cli/graph_command/planted_spec.hpp"
#include "io/array/npz.hpp"
#include "io/dataset/published/karate_club.hpp"
#include "io/file/file.hpp"
#include "io/file/gzip.hpp"
#include "io/graph/graph_readers.hpp"
#include "io/text/text_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace bitgraph::cli {

namespace {

constexpr std::size_t sample_bytes = std::size_t{1} << 20;

/// The front of a text, how long all of it is, and more samples of what is not packed.
struct Text {
  Buffer<std::byte> unpacked;
  std::string_view front, middle, back;
  double size = 0;
  bool gzipped = false;
};

Text text_of(const MappedFile& file, const std::string& name) {
  Text text;
  const std::string_view all = file.text();
  text.gzipped = is_gzip(file.bytes());
  text.size = static_cast<double>(all.size());
  if (!text.gzipped) {
    // Of a long text three pieces of one size: ids tend to grow, and with them the lines.
    const bool long_one = all.size() > 4 * sample_bytes;
    text.front = all.substr(0, long_one ? sample_bytes / 4 : 4 * sample_bytes);
    if (long_one) text.middle = all.substr(all.size() / 2, sample_bytes / 4);
    if (long_one) text.back = all.substr(all.size() - sample_bytes / 4);
    return text;
  }
  GzipFront front = gunzip_front(file.bytes(), sample_bytes, name);
  text.unpacked = std::move(front.bytes);
  text.front = {reinterpret_cast<const char*>(text.unpacked.data()), text.unpacked.size()};
  const auto unpacked = static_cast<double>(text.front.size());
  text.size = front.whole ? unpacked
                          : unpacked * static_cast<double>(all.size()) /
                                static_cast<double>(std::max<std::size_t>(front.packed, 1));
  return text;
}

std::string lower(std::string_view word) {
  std::string text(word);
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

/// The numbers of a line, as many as are whole.
std::vector<double> numbers_of(TextCursor& cursor) {
  std::vector<double> numbers;
  std::uint64_t number = 0;
  for (cursor.skip_blanks(); !cursor.at_line_end() && cursor.take_integer(number); cursor.skip_blanks())
    numbers.push_back(static_cast<double>(number));
  return numbers;
}

/// The skew of the lengths of runs of one row in a list's samples: that of the degrees, where lines are sorted.
double skew_of(std::span<const std::uint64_t> firsts) {
  double sum = 0;
  double squares = 0;
  double runs = 0;
  for (std::size_t from = 0; from < firsts.size();) {
    std::size_t to = from;
    while (to < firsts.size() && firsts[to] == firsts[from]) ++to;
    const auto length = static_cast<double>(to - from);
    sum += length;
    squares += length * length;
    runs += 1;
    from = to;
  }
  return sum > 0 ? std::max(1.0, squares * runs / (sum * sum)) : 1;
}

/// Lines and ids of a piece of a list.
struct ListSample {
  double lines = 0, bytes = 0, largest = 0;
  bool numbers = true;  ///< but for a header
  std::vector<std::uint64_t> firsts, ids;
};

/// Two words of a line, hashed: the first two columns, whichever are chosen.
std::pair<std::uint64_t, std::uint64_t> words_of(std::string_view line) {
  constexpr std::string_view separators = " \t,;\r\n";
  const std::size_t first = line.find_first_of(separators);
  const std::size_t second = line.find_first_not_of(separators, first);
  if (second == std::string_view::npos) return {std::hash<std::string_view>()(line), 0};
  const std::string_view rest = line.substr(second);
  const std::hash<std::string_view> hash;
  return {hash(line.substr(0, first)), hash(rest.substr(0, rest.find_first_of(separators)))};
}

void add_lines(ListSample& sample, std::string_view piece, bool from_start) {
  TextCursor cursor(piece);
  if (!from_start) cursor.skip_line();
  while (cursor.find_line('#', '%')) {
    const char* line = cursor.at;
    std::uint64_t i = 0;
    std::uint64_t j = 0;
    const bool numbers = cursor.take_integer(i) && cursor.skip_separator() && cursor.take_integer(j);
    cursor.skip_line();
    if (cursor.done() && sample.lines > 0) break;  // it may be cut
    if (!numbers) std::tie(i, j) = words_of({line, static_cast<std::size_t>(cursor.at - line)});
    sample.lines += 1;
    sample.bytes += static_cast<double>(cursor.at - line);
    if (sample.lines > 1) sample.numbers = sample.numbers && numbers;
    if (numbers) sample.largest = std::max(sample.largest, static_cast<double>(std::max(i, j)));
    sample.firsts.push_back(i);
    sample.ids.push_back(i);
    sample.ids.push_back(j);
  }
}

void matrix_market_size(GraphSize& size, const Text& text, const std::string& name) {
  TextCursor cursor(text.front);
  const std::string banner = lower(text.front.substr(0, text.front.find('\n')));
  if (!banner.starts_with("%%matrixmarket") || banner.find("coordinate") == std::string::npos)
    fail_in(name, "expected a %%MatrixMarket header of a coordinate matrix");
  const bool general = banner.find("general") != std::string::npos;
  size.weighted = banner.find("pattern") == std::string::npos;
  cursor.find_line('%', '%');
  const std::vector<double> sizes = numbers_of(cursor);
  if (sizes.size() != 3 || !cursor.at_line_end()) fail_in(name, "expected a size line: rows, columns, entries");
  if (std::max(sizes[0], sizes[1]) >= 4294967295.0) fail_in(name, "expected less than 2^32 - 1 rows and columns");
  if (sizes[2] > 2 * (text.gzipped ? 1032.0 : 1.0) * text.size / 4 + 1)
    fail_in(name, "expected no more entries than the file has room for");
  size.nodes = sizes[0];
  size.listed = sizes[2];
  size.symmetric = !general;
  size.entries = general ? size.listed : 2 * size.listed;
  cursor.skip_line();
  ListSample sample;
  add_lines(sample, cursor.rest(), true);
  add_lines(sample, text.middle, false);
  add_lines(sample, text.back, false);
  size.skew = skew_of(sample.firsts);
}

void metis_size(GraphSize& size, const Text& text, const std::string& name) {
  TextCursor cursor(text.front);
  cursor.find_line('%', '%');
  const std::vector<double> sizes = numbers_of(cursor);
  if (sizes.size() < 2 || !cursor.at_line_end()) fail_in(name, "expected a first line: nodes edges [format [weights]]");
  if (sizes[0] >= 4294967295.0) fail_in(name, "expected less than 2^32 - 1 nodes");
  if (sizes[1] > (text.gzipped ? 1032.0 : 1.0) * text.size)
    fail_in(name, "expected no more edges than the file has room for");
  size.nodes = sizes[0];
  size.entries = size.listed = 2 * sizes[1];
  size.symmetric = true;
  size.weighted = sizes.size() > 2 && std::fmod(sizes[2], 10) == 1;
}

void edge_list_size(GraphSize& size, const Text& text) {
  ListSample sample;
  add_lines(sample, text.front, true);
  const bool whole = text.size <= static_cast<double>(text.front.size());
  add_lines(sample, text.middle, false);
  add_lines(sample, text.back, false);
  size.listed = sample.lines == 0 ? 0 : std::max(1.0, text.size * sample.lines / sample.bytes);
  size.skew = skew_of(sample.firsts);
  std::sort(sample.ids.begin(), sample.ids.end());
  const auto different = static_cast<double>(std::unique(sample.ids.begin(), sample.ids.end()) - sample.ids.begin());
  size.nodes = whole ? different : sample.numbers ? std::min(sample.largest + 1, 2 * size.listed) : size.listed / 7;
  size.gaps = whole && different != sample.largest + 1;
  size.entries = size.listed;
  if (!whole) {
    size.assumptions.push_back(
        fmt::format("{:.0f} edges between {:.0f} nodes, average degree {:.1f}, as {} of the list have it", size.listed,
                    size.nodes, size.degree(), text.gzipped ? "the first 1 MB" : "three samples"));
  }
}

double shape_at(const NpzReader& reader, const std::string& key, std::size_t n) {
  const std::vector<std::uint64_t> shape = reader.shape(key);
  if (shape.size() <= n) reader.refuse(key, "too few dimensions");
  return static_cast<double>(shape[n]);
}

void npz_size(GraphSize& size, const NpzReader& reader) {
  const bool dataset = reader.contains("adj_indptr");
  const bool list = !dataset && reader.contains("row");
  size.listed = size.entries = shape_at(reader, dataset ? "adj_indices" : list ? "row" : "indices", 0);
  if (list) {
    size.nodes = size.entries > 0 ? static_cast<double>(reader.vector<std::int64_t>("shape")[0]) : 0;
  } else {
    size.nodes = shape_at(reader, dataset ? "adj_indptr" : "indptr", 0) - 1;
  }
}

/// Rows that a sample looks at: few pages of a mapped file, whatever its size.
constexpr NodeId sampled_rows = 512;

/// Degrees, and whether entries have their opposites, in rows at equal distances.
void sample_rows(GraphSize& size, const CsrPattern& a) {
  double sum = 0;
  double squares = 0;
  double rows = 0;
  bool symmetric = a.nrows() == a.ncols();
  const NodeId step = std::max<NodeId>(1, a.nrows() / sampled_rows);
  const auto& row_ptr = a.row_ptr();
  const auto row_of = [&](NodeId i) -> std::span<const NodeId> {
    const EdgeOffset from = row_ptr[i];
    const EdgeOffset to = row_ptr[i + 1];
    if (from > to || to > a.nvals()) return {};  // a damaged file: reading it will say so
    return a.col_ind().subspan(from, to - from);
  };
  for (NodeId i = step / 2; i < a.nrows(); i += step) {
    const auto row = row_of(i);
    const auto degree = static_cast<double>(row.size());
    sum += degree;
    squares += degree * degree;
    rows += 1;
    if (row.empty() || !symmetric) continue;
    const NodeId j = row[row.size() / 2];
    const auto back = j < a.nrows() ? row_of(j) : std::span<const NodeId>{};
    symmetric = std::binary_search(back.begin(), back.end(), i);
  }
  size.symmetric = symmetric;
  if (sum > 0) size.skew = std::max(1.0, squares * rows / (sum * sum));
}

void b2sr_size(GraphSize& size, const std::filesystem::path& path) {
  const B2srFile file = open_b2sr(path);
  if (file.tiles) {
    size.nodes = file.tiles->nrows();
    size.entries = static_cast<double>(file.tiles->nvals());
    size.tile_dim = file.tiles->tile_dim();
    size.tiles = static_cast<double>(file.tiles->num_tiles());
    size.symmetric = true;
    size.assumptions.emplace_back("that the tiles are those of a symmetric matrix");
  } else {
    size.nodes = file.pattern->nrows();
    size.entries = static_cast<double>(file.pattern->nvals());
    sample_rows(size, *file.pattern);
    size.assumptions.push_back(fmt::format("a {} matrix, as {} sampled rows have it",
                                           size.symmetric ? "symmetric" : "directed", sampled_rows));
  }
  size.listed = size.entries;
}

}  // namespace

double pattern_bytes(const GraphSize& size) { return 8 * size.nodes + 4 * size.entries; }

double guessed_tile_bytes(const GraphSize& size, int tile_dim) {
  const double k = tile_dim;
  const double rows = std::ceil(size.nodes / k);
  if (tile_dim == size.tile_dim && size.tiles > 0)
    return 8 * rows + size.tiles * (4 + static_cast<double>(tile_bytes(tile_dim)));
  // Between entries at random, alone in their tiles, and entries in runs of half a tile's side.
  const double places = rows * rows;
  const double random = places * (1 - std::exp(-size.entries / std::max(places, 1.0)));
  const double clustered = std::min(random, 2 * size.entries / k);
  return 8 * rows + std::sqrt(random * clustered) * (4 + static_cast<double>(tile_bytes(tile_dim)));
}

GraphSize graph_size_of(const std::filesystem::path& path, bool undirected, std::optional<GraphFileFormat> format) {
  GraphSize size;
  size.format = format ? *format : graph_file_format_of(path);
  const std::string name = path.string();
  const auto file = MappedFile::open(path);
  size.file_bytes = static_cast<double>(file->size());
  if (size.format == GraphFileFormat::b2sr) {
    b2sr_size(size, path);
  } else if (size.format == GraphFileFormat::npz) {
    npz_size(size, NpzReader(file->bytes(), name));
  } else {
    if (path.extension() == ".gz" && !is_gzip(file->bytes())) fail_at_byte(name, 0, "not gzip data");
    const Text text = text_of(*file, name);
    size.gzipped = text.gzipped;
    size.text_bytes = text.size;
    if (size.format == GraphFileFormat::matrix_market)
      matrix_market_size(size, text, name);
    else if (size.format == GraphFileFormat::metis)
      metis_size(size, text, name);
    else
      edge_list_size(size, text);
  }
  if (undirected && !size.symmetric) {
    size.symmetric = true;
    size.entries *= 2;
    size.assumptions.emplace_back("that few edges stand in the file in both directions");
  }
  return size;
}

GraphSize graph_size_of(const GraphInput& input) {
  if (input.graph == "-") fail(ErrorCode::usage, "--estimate: standard input has no size: name a file");
  return graph_size_of(input.graph, input.undirected, load_options(input).format);
}

DatasetSize dataset_size_of(const std::string& name) {
  DatasetSize size;
  if (const auto planted = planted_of_spec(name, 0)) {
    size.planted = size.dense = true;
    size.graph.nodes = planted->num_nodes;
    size.graph.listed = size.graph.entries = static_cast<double>(planted->num_entries);
    size.features = static_cast<double>(planted->num_features);
    size.classes = planted->num_classes;
  } else {
    const auto path = find_dataset(name);
    if (!path) fail(ErrorCode::bad_input, name + ": not found; a data set that must be downloaded cannot be estimated");
    if (path->extension() == ".npz") {
      const auto file = MappedFile::open(*path);
      const NpzReader reader(file->bytes(), path->string());
      npz_size(size.graph, reader);
      size.graph.format = GraphFileFormat::npz;
      size.graph.file_bytes = static_cast<double>(file->size());
      size.dense = reader.contains("attr_matrix");
      size.features = size.dense ? shape_at(reader, "attr_matrix", 1)
                                 : static_cast<double>(reader.vector<std::int64_t>("attr_shape")[1]);
      size.feature_values = size.dense ? 0 : shape_at(reader, "attr_indices", 0);
      size.graph.entries *= 2;
      size.graph.assumptions.emplace_back("that the file has one direction of every edge");
    } else if (path->extension() == ".mat" || find_karate_club(*path)) {
      // Many small graphs: their files tell no sizes, and are soon read.
      const Dataset dataset = load_dataset(*path);
      size.graph.nodes = dataset.graph.nrows();
      size.graph.listed = size.graph.entries = static_cast<double>(dataset.graph.nvals());
      size.features = static_cast<double>(dataset.num_features());
      size.feature_values = static_cast<double>(dataset.features.values.size());
      for (const std::string& file : files_of_dataset(name)) {
        std::error_code none;
        const auto bytes = std::filesystem::file_size(file, none);
        if (!none) size.graph.file_bytes += static_cast<double>(bytes);
      }
    } else {
      // MUSAE's layout: a list of edges, and features in JSON of about 6 bytes a value.
      for (const std::string& file : files_of_dataset(name)) {
        std::error_code none;
        const auto bytes = static_cast<double>(std::filesystem::file_size(file, none));
        if (none || bytes < 0) continue;
        if (file.find("_edges.csv") != std::string::npos) size.graph = graph_size_of(file, true);
        if (file.find(".json") != std::string::npos) size.feature_values = bytes / (file.ends_with(".gz") ? 1.5 : 6);
      }
      if (size.graph.nodes == 0) fail(ErrorCode::bad_input, name + ": found no list of edges in the folder");
      size.features = 4096;
      size.graph.assumptions.push_back(
          fmt::format("{:.0f} values of features in {:.0f} columns, by the size of the .json file", size.feature_values,
                      size.features));
    }
    size.classes = 10;
  }
  size.graph.symmetric = true;
  if (size.dense) size.feature_values = size.features * size.graph.nodes;
  return size;
}

}  // namespace bitgraph::cli
