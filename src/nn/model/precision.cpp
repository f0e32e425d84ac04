// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/nn/precision.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace bitgraph::nn {

namespace {

constexpr std::array<std::pair<Precision, std::string_view>, 3> presets{
    {{Precision::real, "float"}, {Precision::full, "full"}, {Precision::bin, "bin"}}};

}  // namespace

std::string to_string(const Precision& precision) {
  for (const auto& [preset, name] : presets) {
    if (precision == preset) return std::string(name);
  }
  return formats_of(precision);
}

std::string formats_of(const Precision& precision) {
  return fmt::format("{}/{}/{}/{}", to_string(precision.input), to_string(precision.weight),
                     to_string(precision.messages), to_string(precision.output));
}

void require_supported(const Precision& precision) {
  const bool supported =
      std::any_of(presets.begin(), presets.end(), [&](const auto& preset) { return preset.first == precision; });
  if (!supported) fail(ErrorCode::usage, "no layer computes in the formats " + formats_of(precision));
}

Precision precision_from_string(std::string_view text) {
  for (const auto& [preset, name] : presets) {
    if (text == name || text == formats_of(preset)) return preset;
  }
  fail(ErrorCode::usage, "unknown precision '" + std::string(text) + "': use float, full or bin");
}

}  // namespace bitgraph::nn
