// SPDX-License-Identifier: Apache-2.0
#include "cli/graph_command/planted_spec.hpp"

#include <bitgraph/core/error.hpp>

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <string_view>

namespace bitgraph::cli {

std::optional<PlantedGraphOptions> planted_of_spec(const std::string& spec, std::uint64_t seed) {
  constexpr std::string_view prefix = "planted:";
  std::error_code ignored;
  if (!spec.starts_with(prefix) || std::filesystem::exists(spec, ignored)) return std::nullopt;
  const std::string_view rest = std::string_view(spec).substr(prefix.size());
  const std::size_t slash = rest.find('/');
  double scale = 1;
  if (slash != std::string_view::npos) {
    const std::string_view text = rest.substr(slash + 1);
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
    if (error != std::errc() || stop != text.data() + text.size() || !(scale >= 1 && scale <= 1e6))
      fail(ErrorCode::usage, fmt::format("'{}': a scale lies between 1 and 1,000,000: planted:reddit/10", spec));
  }
  PlantedGraphOptions options = planted_graph_preset(rest.substr(0, slash), scale);
  options.seed = seed;
  return options;
}

}  // namespace bitgraph::cli
