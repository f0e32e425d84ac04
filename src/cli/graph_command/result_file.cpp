// SPDX-License-Identifier: Apache-2.0
#include "cli/graph_command/result_file.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/io/array.hpp>

#include "io/file/file.hpp"
#include "io/text/delimited.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <numeric>

namespace bitgraph::cli {

namespace {

constexpr std::size_t flush_bytes = std::size_t{1} << 20;
constexpr NodeId no_node = ~NodeId{0};
constexpr std::int32_t no_path = 0x7FFFFFFF;

enum class ResultFormat { npy, csv, tsv };

/// Throws usage for another ending. `also` is an ending that the message names too.
ResultFormat format_of(const std::string& path, const std::string& option, const std::string& also = "") {
  if (path == "-") return ResultFormat::csv;
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".npy") return ResultFormat::npy;
  if (ending == ".csv") return ResultFormat::csv;
  if (ending == ".tsv") return ResultFormat::tsv;
  std::error_code none;
  if (std::filesystem::is_other(path, none)) return ResultFormat::npy;
  fail(ErrorCode::usage,
       fmt::format("{} '{}': the name must end in {}{}.npy, .csv or .tsv, or be - for standard output", option, path,
                   also, also.empty() ? "" : ", "));
}

template <class T>
void append_number(std::string& to, T value) {
  fmt::format_to(std::back_inserter(to), FMT_STRING("{}"), value);
}

/// fn(span of plain numbers): nodes as unsigned numbers.
template <class Fn>
decltype(auto) with_numbers(const ResultValues& values, Fn&& fn) {
  return std::visit(
      [&]<class Values>(const Values& kind) -> decltype(auto) {
        if constexpr (std::is_same_v<Values, NodeValues>) {
          return fn(kind.nodes);
        } else if constexpr (std::is_same_v<Values, DistanceValues>) {
          return fn(kind.distances);
        } else {
          return fn(kind);
        }
      },
      values);
}

void append_value(std::string& to, const ResultValues& values, std::size_t at, const NodeNames& names, char separator) {
  if (const auto* nodes = std::get_if<NodeValues>(&values)) {
    if (nodes->nodes[at] != no_node) append_field(to, names.text(nodes->nodes[at]), separator);
    return;
  }
  const auto* distances = std::get_if<DistanceValues>(&values);
  if (distances != nullptr && distances->distances[at] == no_path) {
    to += "inf";
    return;
  }
  with_numbers(values, [&](auto numbers) { append_number(to, numbers[at]); });
}

/// Writes the text, a part at a time, to write(part).
void write_rows_as_text(const ResultTable& table, const NodeNames& names, char separator,
                        const std::function<void(std::string_view)>& write) {
  std::string text = table.row;
  for (const std::string& column : table.columns) {
    text += separator;
    append_field(text, column, separator);
  }
  text += '\n';
  const std::size_t columns = table.columns.size();
  const std::size_t size = with_numbers(table.values, [](auto numbers) { return numbers.size(); });
  const std::size_t rows = columns == 0 ? 0 : size / columns;
  for (std::size_t row = 0; row < rows; ++row) {
    append_field(text, names.text(static_cast<NodeId>(row)), separator);
    for (std::size_t column = 0; column < columns; ++column) {
      text += separator;
      append_value(text, table.values, row * columns + column, names, separator);
    }
    text += '\n';
    if (text.size() < flush_bytes) continue;
    write(text);
    text.clear();
  }
  write(text);
}

void save_numbers(const std::string& path, const ResultTable& table) {
  with_numbers(table.values, [&]<class T>(std::span<const T> numbers) {
    if constexpr (std::is_same_v<T, NodeId>) {
      // Read as int32, "no node" is -1.
      for (const NodeId node : numbers) {
        if (node > 0x7FFFFFFFU && node != no_node)
          fail(ErrorCode::not_possible, fmt::format("node {} does not fit an int32 file", node));
      }
      save_npy(path, std::span(reinterpret_cast<const std::int32_t*>(numbers.data()), numbers.size()));
    } else if (table.matrix) {
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, std::int32_t>) {
        constexpr ElementType type = std::is_same_v<T, float> ? ElementType::f32 : ElementType::i32;
        const std::size_t columns = table.columns.size();
        const std::array<std::uint64_t, 2> shape{columns == 0 ? 0 : numbers.size() / columns, columns};
        save_npy(path, type, shape, std::as_bytes(numbers));
      } else {
        fail(ErrorCode::internal, "a matrix of results holds float32 or int32");
      }
    } else {
      save_npy(path, numbers);
    }
  });
}

void write_standard_output(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    fail(ErrorCode::internal, "cannot write the result to standard output");
}

}  // namespace

CLI::Option* add_result(CLI::App& app, Common& common, const std::string& name, std::string& path,
                        const std::string& what, const std::string& also, const std::string& also_what) {
  std::string help = "write " + what + ", to this .npy, .csv or .tsv; -: CSV";
  if (!also.empty()) help += "; " + also + ": " + also_what;
  CLI::Option* option = add_output(app, common, name, path, help);
  common.files.checks([&common, &path, label = option->get_name(), also] {
    if (path.empty() || (!also.empty() && path.ends_with(also))) return;
    static_cast<void>(format_of(path, label, also));
    if (path != "-") return;
    if (common.json) fail(ErrorCode::usage, label + " - and --json both print on standard output: use one of them");
    if (!common.data_on_stdout.empty()) {
      fail(ErrorCode::usage,
           fmt::format("{} - and {} - both print on standard output: use one of them", common.data_on_stdout, label));
    }
    common.data_on_stdout = label;
  });
  return option;
}

void save_result(const std::string& path, const NodeNames& names, const ResultTable& table) {
  const ResultFormat format = format_of(path, "output");
  if (format == ResultFormat::npy) return save_numbers(path, table);
  const char separator = format == ResultFormat::csv ? ',' : '\t';
  if (path == "-") return write_rows_as_text(table, names, separator, write_standard_output);
  AtomicFile file{std::filesystem::path(path)};
  write_rows_as_text(table, names, separator, [&](std::string_view text) { file.write(text); });
  file.commit();
}

std::vector<NodeId> highest(const ResultValues& values, std::size_t count) {
  return with_numbers(values, [&](auto numbers) {
    std::vector<NodeId> nodes(numbers.size());
    std::iota(nodes.begin(), nodes.end(), NodeId{0});
    count = std::min(count, nodes.size());
    std::partial_sort(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(count), nodes.end(),
                      [&](NodeId a, NodeId b) { return numbers[a] != numbers[b] ? numbers[a] > numbers[b] : a < b; });
    nodes.resize(count);
    return nodes;
  });
}

Json value_of(const ResultValues& values, std::size_t row) {
  return with_numbers(values, [&](auto numbers) { return Json(numbers[row]); });
}

}  // namespace bitgraph::cli
