// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/graph_spec.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/io/graph.hpp>

#include "cli/command.hpp"
#include "cli/planted_spec.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>

namespace bitgraph::cli {

namespace {

std::optional<CsrPattern> generate(const std::string& kind, int size, std::uint64_t seed, const Device& host) {
  const auto side = static_cast<NodeId>(size);
  if (kind == "rmat") return generate_rmat(size, 16, seed, host);
  if (kind == "uniform") return generate_uniform(NodeId{1} << size, std::size_t{16} << size, seed, host);
  if (kind == "grid") return generate_grid(side, side, host);
  if (kind == "mesh") return generate_mesh(side, side, seed, false, host);
  if (kind == "mycielskian") return generate_mycielskian(size, host);
  if (kind == "bruijn") return generate_de_bruijn(size, host);
  return std::nullopt;
}

/// The number behind the colon, in the kind's range; -1 otherwise.
int size_of(const std::string& kind, const std::string& text) {
  int size = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  const int most = kind == "grid" || kind == "mesh" ? 32767 : kind == "mycielskian" ? 20 : 30;
  const int least = kind == "mycielskian" ? 2 : 1;
  return error == std::errc() && stop == text.data() + text.size() && size >= least && size <= most ? size : -1;
}

}  // namespace

CsrPattern graph_of_spec(const std::string& spec, std::uint64_t seed, const Device& host) {
  std::error_code error;
  if (const auto planted = planted_of_spec(spec, seed)) return generate_planted_pattern(*planted, host);
  const std::size_t colon = spec.find(':');
  if (colon != std::string::npos && !std::filesystem::exists(spec, error)) {
    const std::string kind = spec.substr(0, colon);
    const int size = size_of(kind, spec.substr(colon + 1));
    if (size > 0) {
      if (auto made = generate(kind, size, seed, host)) return std::move(*made);
    }
    fail(ErrorCode::usage, fmt::format("no graph is called '{}': a file, a data set, or {}", spec, graph_kinds));
  }
  const bool is_name = spec.find_first_of("./") == std::string::npos && !std::filesystem::exists(spec, error);
  const std::filesystem::path path = is_name ? require_dataset(spec) : std::filesystem::path(spec);
  if (std::filesystem::is_directory(path, error)) return load_dataset(path, host).graph.clone();
  return load_graph(path, {.ignore_weights = true}, host).pattern;
}

}  // namespace bitgraph::cli
