// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/graph_spec.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/io/graph.hpp>

#include "cli/command.hpp"
#include "cli/estimate/graph_size.hpp"
#include "cli/graph_command/planted_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>

namespace bitgraph::cli {

namespace {

using Generate = CsrPattern (*)(int size, std::uint64_t seed, const Device& host);

struct Kind {
  std::string_view name;
  int least, most;  ///< sizes
  Generate generate;
};

constexpr std::array kinds{
    Kind{"rmat", 1, 30, [](int n, std::uint64_t seed, const Device& d) { return generate_rmat(n, 16, seed, d); }},
    Kind{"uniform", 1, 30,
         [](int n, std::uint64_t seed, const Device& d) {
           return generate_uniform(NodeId{1} << n, std::size_t{16} << n, seed, d);
         }},
    Kind{"grid", 1, 32767, [](int n, std::uint64_t, const Device& d) { return generate_grid(n, n, d); }},
    Kind{"mesh", 1, 32767,
         [](int n, std::uint64_t seed, const Device& d) { return generate_mesh(n, n, seed, false, d); }},
    Kind{"mycielskian", 2, 20, [](int n, std::uint64_t, const Device& d) { return generate_mycielskian(n, d); }},
    Kind{"bruijn", 1, 30, [](int n, std::uint64_t, const Device& d) { return generate_de_bruijn(n, d); }}};

/// Where the pattern of a word comes from: one of these.
struct Source {
  std::optional<PlantedGraphOptions> planted;
  Generate generate = nullptr;
  int size = 0;
  std::filesystem::path path;
};

/// Null where the word is no kind and size.
const Kind* kind_of(const std::string& spec, std::size_t colon, int& size) {
  const char* const end = spec.data() + spec.size();
  const auto [stop, error] = std::from_chars(spec.data() + colon + 1, end, size);
  const auto fits = [&](const Kind& k) { return k.name == std::string_view(spec).substr(0, colon); };
  const auto* const kind = std::find_if(kinds.begin(), kinds.end(), fits);
  const bool known = kind != kinds.end() && error == std::errc() && stop == end;
  return known && size >= kind->least && size <= kind->most ? kind : nullptr;
}

Source source_of(const std::string& spec, std::uint64_t seed) {
  Source source;
  source.planted = planted_of_spec(spec, seed);
  if (source.planted) return source;
  std::error_code error;
  const bool exists = std::filesystem::exists(spec, error);
  const std::size_t colon = spec.find(':');
  if (colon != std::string::npos && !exists) {
    const Kind* const kind = kind_of(spec, colon, source.size);
    if (kind == nullptr)
      fail(ErrorCode::usage, fmt::format("no graph is called '{}': a file, a data set, or {}", spec, graph_kinds));
    source.generate = kind->generate;
    return source;
  }
  const bool is_name = spec.find_first_of("./") == std::string::npos && !exists;
  source.path = is_name ? require_dataset(spec) : std::filesystem::path(spec);
  return source;
}

}  // namespace

CsrPattern graph_of_spec(const std::string& spec, std::uint64_t seed, const Device& host) {
  const Source source = source_of(spec, seed);
  if (source.planted) return generate_planted_pattern(*source.planted, host);
  if (source.generate != nullptr) return source.generate(source.size, seed, host);
  std::error_code error;
  if (std::filesystem::is_directory(source.path, error)) return load_dataset(source.path, host).graph.clone();
  return load_graph(source.path, {.ignore_weights = true}, host).pattern;
}

void require_graphs(const std::vector<std::string>& specs) {
  for (const std::string& spec : specs) {
    const Source source = source_of(spec, 0);
    std::error_code error;
    // A file that is not there: reading it says so.
    if (!source.path.empty() && !std::filesystem::exists(source.path, error)) (void)load_graph(source.path);
  }
}

double spec_bytes(const std::string& spec) {
  if (spec.find_first_of("./:") == std::string::npos) return pattern_bytes(dataset_size_of(spec).graph);
  const Source source = source_of(spec, 0);
  if (source.planted) return pattern_bytes(dataset_size_of(spec).graph);
  if (source.generate == nullptr) {
    if (source.path.extension() == ".mat" || std::filesystem::is_directory(source.path))
      return pattern_bytes(dataset_size_of(spec).graph);
    return pattern_bytes(graph_size_of(source.path, false));
  }
  const bool side = spec.starts_with("grid") || spec.starts_with("mesh");
  if (side) return 32.0 * source.size * source.size;
  if (spec.starts_with("mycielskian")) return 2.9 * 8 * std::pow(3, source.size - 2);
  return (spec.starts_with("bruijn") ? 24 : 140) * std::exp2(source.size);
}

}  // namespace bitgraph::cli
